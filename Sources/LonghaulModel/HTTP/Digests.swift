/// `Repr-Digest` and `Content-Digest` (RFC 9530).
package enum DigestField {
    /// The field that asks for a digest (RFC 9530 §4), and its value. An announced digest is
    /// compared with the file.
    package static let wanted = (name: "Want-Repr-Digest", value: "sha-256=10, sha-512=5")

    /// The digest in a field's value that we check: SHA-256, which machines compute fastest, else
    /// SHA-512.
    package static func checksum(_ value: String) -> Checksum? {
        let found = checksums(value)
        return found.last { $0.algorithm == .sha256 } ?? found.first
    }

    /// The digests by SHA-256 and SHA-512. Others are deprecated (RFC 9530 §5) or unknown, and a
    /// malformed member counts as absent.
    static func checksums(_ value: String) -> [Checksum] {
        var found: [Checksum] = []
        // Byte sequences hold no comma, so that members part at commas (RFC 8941 §3.2).
        for member in value.split(separator: ",") {
            guard let equals = member.firstIndex(of: "=") else { continue }
            let key = member[..<equals].trimmingBlanks
            let algorithm: Checksum.Algorithm
            if key == "sha-256" {
                algorithm = .sha256
            } else if key == "sha-512" {
                algorithm = .sha512
            } else {
                continue
            }
            let item = member[member.index(after: equals)...].split(separator: ";")[...].first
            guard let text = item?.trimmingBlanks, text.utf8.count > 2, text.first == ":",
                text.last == ":", let bytes = Base64.decode(text.dropFirst().dropLast()),
                bytes.count == algorithm.byteCount
            else { continue }
            found.append(Checksum(algorithm: algorithm, hex: Hex.text(bytes)))
        }
        return found
    }

    /// The digest of the whole representation that a response announces, in the stored form
    /// `sha-256=:…:`.
    ///
    /// `Content-Digest` covers this message's content: the whole only where the answer is a 200
    /// (RFC 9530 §2) that brings it.
    static func announced(by head: ResponseHead) -> String? {
        if let digest = announced("Repr-Digest", in: head.headers) { return digest }
        guard head.status == 200, !head.isPart else { return nil }
        return announced("Content-Digest", in: head.headers)
    }

    private static func announced(_ name: String, in headers: HeaderFields) -> String? {
        guard headers.contains(name) else { return nil }
        return checksum(headers.values(name).joined(separator: ",")).flatMap(stored)
    }

    /// The form that ``checksum(_:)`` reads.
    package static func stored(_ checksum: Checksum) -> String? {
        guard let bytes = Hex.bytes(checksum.hex) else { return nil }
        switch checksum.algorithm {
        case .sha256: return "sha-256=:\(Base64.encode(bytes)):"
        case .sha512: return "sha-512=:\(Base64.encode(bytes)):"
        case .sha1, .md5, .gitSHA1: return nil
        }
    }
}

extension Checksum.Algorithm {
    /// Length of the digest.
    package var byteCount: Int {
        switch self {
        case .sha512: 64
        case .sha256: 32
        case .sha1, .gitSHA1: 20
        case .md5: 16
        }
    }
}

/// An expected digest of the whole file.
public struct Checksum: Hashable, Codable, Sendable {
    /// A hash function, named as in `--checksum sha256:…` and RFC 9530. SHA-1 and MD5 guard against
    /// accidents only.
    public enum Algorithm: String, Codable, Sendable, CaseIterable {
        /// SHA-256, FIPS 180-4.
        case sha256
        /// SHA-512, FIPS 180-4.
        case sha512
        /// SHA-1: against accidents only.
        case sha1
        /// MD5, RFC 1321: against accidents only.
        case md5
        /// SHA-1 of `blob LENGTH`, a zero byte and the file, by which git names its blobs: against
        /// accidents only.
        case gitSHA1 = "git-sha1"
    }

    /// How `hex` was made.
    public var algorithm: Algorithm
    /// Lower-case hexadecimal.
    public var hex: String

    /// The caller vouches for `hex`: lower case and of the algorithm's length. Text from users goes
    /// through ``init(parsing:)``.
    package init(algorithm: Algorithm, hex: String) {
        self.algorithm = algorithm
        self.hex = hex
    }
}

extension Checksum {
    /// `sha256:HEX`, and so on for the other algorithms. The name may have a hyphen (`sha-256`),
    /// the separator may be an equals sign as in aria2's input files, and letters may be of either
    /// case.
    ///
    /// - Returns: `nil` for an unknown algorithm, an invalid digit, or a wrong number of digits.
    public init?(parsing text: String) {
        let bytes = text.utf8
        guard let mark = bytes.firstIndex(where: { $0 == 0x3A || $0 == 0x3D }) else { return nil }
        let name = text[..<mark].lowercased().filter { $0 != "-" }
        let hex = text[bytes.index(after: mark)...].lowercased()
        let algorithm = Algorithm.allCases.first { $0.rawValue.filter { $0 != "-" } == name }
        guard let algorithm, let digest = Hex.bytes(hex),
            digest.count == algorithm.byteCount
        else { return nil }
        self.init(algorithm: algorithm, hex: hex)
    }
}

extension Checksum: CustomStringConvertible {
    /// Text that ``init(parsing:)`` reads.
    public var description: String { "\(algorithm.rawValue):\(hex)" }
}
