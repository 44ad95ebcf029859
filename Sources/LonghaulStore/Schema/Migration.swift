/// The versions of the schema. Each is a list of statements that migrates a store of the version
/// before. A released list is never edited: a change is a new version.
enum Migration {
    /// In the file's header (PRAGMA application_id): "LH", and the fingerprint of version 1, which
    /// changed until it was released. A store of a build from before is told apart by it.
    static let applicationID = family << 16 | 0x3CB9
    static let family = 0x4C48

    /// A fingerprint of 16 bits (FNV-1a, folded).
    static func fingerprint(of statements: [String]) -> Int {
        var hash: UInt32 = 0x811C_9DC5
        for byte in statements.joined(separator: ";").utf8 {
            hash = (hash ^ UInt32(byte)) &* 0x0100_0193
        }
        return Int(hash >> 16 ^ hash & 0xFFFF)
    }

    /// `versions[n]` leads from version n to n + 1.
    static let versions: [[String]] = [version1]

    static var latest: Int { versions.count }
}
