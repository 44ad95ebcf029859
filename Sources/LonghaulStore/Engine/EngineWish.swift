package import LonghaulCore

/// That an engine is wanted that stays, and which program can be it: a row of `setting`.
///
/// Noted before looking whether an engine runs, and read by every engine after it has let go of the
/// lease: whoever comes while one leaves is seen by one of the two.
extension Store {
    static let wishKey = "wantedEngine"

    package func wishForEngine(_ executable: String) throws(LonghaulError) {
        if try access({ try $0.setting(Store.wishKey) }) == executable { return }
        try write(.relaxed) { try $0.set(Store.wishKey, to: executable) }
    }

    /// The program; `nil` = no engine is wished for. From now on none is.
    package func takeEngineWish() throws(LonghaulError) -> String? {
        // No lock where there is nothing to take.
        if try access({ try $0.setting(Store.wishKey) }) == nil { return nil }
        return try write(.relaxed) { connection in
            let wish = try connection.setting(Store.wishKey)
            try connection.removeSetting(Store.wishKey)
            return wish
        }
    }

    /// Whether transfers are left that are wanted to go on.
    package func isAnyWanted() throws(LonghaulError) -> Bool {
        try access { connection in
            try connection.first(
                """
                SELECT 1 FROM tally WHERE n > 0 AND (pending = 1 OR phase = 0 AND want = 0) LIMIT 1
                """
            ) { _ in true } ?? false
        }
    }
}
