internal import LonghaulCore

/// The versions of the schema. Each is a list of statements that migrates a store of the version
/// before.
///
/// - Until version 1 is released, a change edits ``Version1`` and ``applicationID``.
/// - Afterwards a released list is never edited. A change is a new version, in a file of its own,
///   which is added to ``versions``.
enum Migration {
    /// `versions[n]` leads from version n to n + 1.
    static let versions: [[String]] = [Version1.statements]

    static var latest: Int { versions.count }

    // MARK: - The file's header

    /// PRAGMA application_id: ``family``, and the fingerprint of version 1. The fingerprint changes
    /// with version 1 until that is released, so that a store of an earlier build is refused.
    static let applicationID = family << 16 | 0xB191

    /// "LH": the file is a store of Longhaul.
    static let family = 0x4C48

    /// A fingerprint of 16 bits (FNV-1a, folded).
    static func fingerprint(of statements: [String]) -> Int {
        var hash: UInt32 = 0x811C_9DC5
        for byte in statements.joined(separator: ";").utf8 {
            hash = (hash ^ UInt32(byte)) &* 0x0100_0193
        }
        return Int(hash >> 16 ^ hash & 0xFFFF)
    }

    // MARK: - Statements

    /// The statement without the lines that explain columns. SQLite keeps the text of a statement
    /// in the store and reads it at each opening.
    static func withoutComments(_ statement: String) -> String {
        statement.split(separator: "\n").filter { !$0.trimmingBlanks.hasPrefix("-- ") }
            .joined(separator: "\n")
    }
}
