package import LonghaulCore

/// The wish for an engine that stays, with the program to run: a row of `setting`.
///
/// It is recorded before the check whether an engine runs, and every engine reads it after it has
/// released the lease. So one of the two notices a wish that comes while an engine ends.
extension Store {
    static let wishKey = "wantedEngine"

    package func wishForEngine(_ executable: String) throws(LonghaulError) {
        if try access({ try $0.setting(Store.wishKey) }) == executable { return }
        try write(.relaxed) { try $0.set(Store.wishKey, to: executable) }
    }

    /// Removes the wish and returns its program; `nil` = there was none.
    package func takeEngineWish() throws(LonghaulError) -> String? {
        // Without a wish no write lock is taken.
        if try access({ try $0.setting(Store.wishKey) }) == nil { return nil }
        return try write(.relaxed) { connection in
            let wish = try connection.setting(Store.wishKey)
            try connection.removeSetting(Store.wishKey)
            return wish
        }
    }

    /// Whether transfers are left that are wanted to run.
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
