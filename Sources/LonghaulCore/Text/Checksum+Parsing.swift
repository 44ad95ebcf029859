extension Checksum {
    /// `sha256:HEX`, and so on for the other algorithms. The name may have a hyphen (`sha-256`),
    /// the separator may be an equals sign as in aria2's input files, and letters may be of either
    /// case.
    ///
    /// - Returns: `nil` for an unknown algorithm, a digit that is none, or a wrong number of them.
    public init?(parsing text: String) {
        let bytes = text.utf8
        guard let mark = bytes.firstIndex(where: { $0 == 0x3A || $0 == 0x3D }) else { return nil }
        let name = text[..<mark].lowercased().filter { $0 != "-" }
        let hex = text[bytes.index(after: mark)...].lowercased()
        guard let algorithm = Algorithm(rawValue: name), let digest = Hex.bytes(hex),
            digest.count == algorithm.byteCount
        else { return nil }
        self.init(algorithm: algorithm, hex: hex)
    }
}

extension Checksum: CustomStringConvertible {
    /// What ``init(parsing:)`` reads.
    public var description: String { "\(algorithm.rawValue):\(hex)" }
}
