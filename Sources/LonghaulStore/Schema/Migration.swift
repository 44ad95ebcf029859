internal import LonghaulModel

/// The versions of the schema. Each is a list of statements that migrates a store of the version
/// before.
///
/// A released list is never edited: a test compares ``Version1`` with the store of the release in
/// `Fixtures/stores`. A change is a new version in a separate file, which is added to ``released``.
/// docs/releases.md has the steps.
struct Migration: Sendable {
    /// `versions[n]` leads from version n to n + 1.
    var versions: [[String]]
    /// A probe of tests: called between two steps, where a process may be killed.
    var afterStep: (@Sendable (String) -> Void)?

    var latest: Int { versions.count }

    static let released = Migration(
        versions: [Version1.statements, Version2.statements, Version3.statements])

    // MARK: - The file's header

    /// PRAGMA application_id: ``family``, and the fingerprint of version 1, which refuses stores of
    /// builds from before the first release.
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
