internal import GRDB
package import LonghaulCore

/// That an engine is wanted that stays, and which program can be it: a row of `setting`.
///
/// Noted before looking whether an engine runs, and read by every engine after it has let go of the
/// lease: whoever comes while one leaves is seen by one of the two.
extension Store {
    static let wishKey = "wantedEngine"

    package func wishForEngine(_ executable: String) throws(LonghaulError) {
        let known = try access { connection in
            try connection.first("SELECT value FROM setting WHERE key = ?1", Store.wishKey) {
                $0.text(0)
            }
        }
        if known == executable { return }
        try write(.relaxed) { connection in
            try connection.run(
                """
                INSERT INTO setting (key, value) VALUES (?1, ?2) \
                ON CONFLICT (key) DO UPDATE SET value = ?2
                """, Store.wishKey, executable)
        }
    }

    /// The program; `nil` = no engine is wished for. From now on none is.
    package func takeEngineWish() throws(LonghaulError) -> String? {
        let select = "SELECT value FROM setting WHERE key = ?1"
        let isThere = try access { connection in
            try connection.first(select, Store.wishKey) { $0.text(0) } != nil
        }
        if !isThere { return nil }
        return try write(.relaxed) { connection in
            let wish = try connection.first(select, Store.wishKey) { $0.text(0) }
            try connection.run("DELETE FROM setting WHERE key = ?1", Store.wishKey)
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
