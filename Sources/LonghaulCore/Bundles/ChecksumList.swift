internal import LonghaulModel

/// The lines of sha256sum and its kin (GNU coreutils manual, "cksum output modes"), and of BSD's
/// `sha256`.
struct ChecksumList {
    private(set) var files: [ManifestFile] = []
    /// Places in ``files``.
    private var places: [ExactText: Int] = [:]
    private let directory: String
    private let sendsCredential: Bool

    /// - Parameter url: Of the list; names are relative to it.
    init(
        _ text: [UInt8], of source: BundleSource, at url: String, firstLine: Int = 1
    ) throws(LonghaulError) {
        sendsCredential = source.owns(url)
        let file = url.prefix { $0 != "?" && $0 != "#" }
        let hasPath = (try? URLParts(url))?.path.isEmpty == false
        directory = hasPath ? FileNaming.directory(of: String(file)) : String(file)
        try forEachLine(of: text[...]) { number, line throws(LonghaulError) in
            // Fedora's lists say sizes in comments.
            if line.isBlank || line.first == UInt8(ascii: "#") { return }
            try add(line, number + firstLine - 1)
        }
    }

    private mutating func add(_ line: ArraySlice<UInt8>, _ number: Int) throws(LonghaulError) {
        guard let entry = Entry(line) else {
            throw .invalidManifest(
                line: number, "it is not a digest and a name as sha256sum writes them")
        }
        guard var path = String(validating: entry.name, as: UTF8.self) else {
            throw .invalidManifest(line: number, "its name is not UTF-8")
        }
        // find(1) puts it before each name.
        if path.hasPrefix("./") { path.removeFirst(2) }
        if let problem = ManifestNames.problem(of: path) {
            throw .invalidManifest(line: number, problem)
        }
        if let place = places[ExactText(path)] { return try join(entry.digest, place, number) }
        if files.count == ManifestLimits.files { throw .tooManyFiles }
        places[ExactText(path)] = files.count
        let encoded = PercentEncoding.encode(path.utf8, keeping: [UInt8(ascii: "/")])
        files.append(
            ManifestFile(
                path: path, url: "\(directory)/\(encoded)", digest: entry.digest,
                sendsCredential: sendsCredential))
    }

    /// Some lists have the digests of several algorithms for each file.
    private mutating func join(
        _ digest: Checksum, _ place: Int, _ number: Int
    ) throws(LonghaulError) {
        guard let own = files[place].digest else { return }
        if own.algorithm == digest.algorithm, own != digest {
            throw .invalidManifest(line: number, "its name stands before with another digest")
        }
        files[place].digest = [own, digest].strongest
    }

    private struct Entry {
        var digest: Checksum
        var name: [UInt8]

        init?(_ line: ArraySlice<UInt8>) {
            let isEscaped = line.first == UInt8(ascii: "\\")
            let line = isEscaped ? line.dropFirst() : line
            guard let (digest, name) = Self.gnu(line) ?? Self.bsd(line),
                let plain = isEscaped ? Self.unescaped(name) : Array(name)
            else { return nil }
            self.digest = digest
            self.name = plain
        }

        /// `HEX  name` and `HEX *name`.
        private static func gnu(_ line: ArraySlice<UInt8>) -> (Checksum, ArraySlice<UInt8>)? {
            let hex = line.prefix { $0.isASCIIHexDigit }
            let rest = line[hex.endIndex...]
            guard rest.count > 2, rest.first == 0x20, let mark = rest.dropFirst().first,
                mark == 0x20 || mark == UInt8(ascii: "*"),
                let algorithm = Checksum.Algorithm.listed.first(where: {
                    $0.byteCount * 2 == hex.count
                }),
                let digest = Checksum(parsing: algorithm, hex)
            else { return nil }
            return (digest, rest.dropFirst(2))
        }

        /// `SHA256 (name) = HEX`.
        private static func bsd(_ line: ArraySlice<UInt8>) -> (Checksum, ArraySlice<UInt8>)? {
            let word = line.prefix { $0 != 0x20 }
            let rest = line[word.endIndex...]
            guard rest.starts(with: " (".utf8),
                let end = rest.lastIndex(of: UInt8(ascii: ")")), end > rest.startIndex + 2,
                rest[end...].starts(with: ") = ".utf8),
                let algorithm = Checksum.Algorithm.listed.first(where: { kind in
                    kind.words.contains { word.elementsEqual($0.utf8) }
                }),
                let digest = Checksum(parsing: algorithm, rest[(end + 4)...])
            else { return nil }
            return (digest, rest[(rest.startIndex + 2)..<end])
        }

        /// coreutils escapes a line break, a carriage return and a backslash.
        private static func unescaped(_ name: ArraySlice<UInt8>) -> [UInt8]? {
            var plain: [UInt8] = []
            var rest = name
            while let byte = rest.popFirst() {
                guard byte == UInt8(ascii: "\\") else {
                    plain.append(byte)
                    continue
                }
                switch rest.popFirst() {
                case UInt8(ascii: "\\"): plain.append(byte)
                case UInt8(ascii: "n"): plain.append(0x0A)
                case UInt8(ascii: "r"): plain.append(0x0D)
                case .some, nil: return nil
                }
            }
            return plain
        }
    }
}

extension Checksum {
    fileprivate init?(parsing algorithm: Algorithm, _ hex: ArraySlice<UInt8>) {
        self.init(parsing: "\(algorithm.rawValue):\(String(decoding: hex, as: UTF8.self))")
    }
}

extension Checksum.Algorithm {
    /// Those of lists.
    fileprivate static let listed: [Checksum.Algorithm] = [.sha256, .sha512, .sha1, .md5]

    fileprivate var words: [String] {
        switch self {
        case .sha256: ["SHA256", "SHA2-256"]
        case .sha512: ["SHA512", "SHA2-512"]
        case .sha1: ["SHA1"]
        case .md5: ["MD5"]
        case .gitSHA1: []
        }
    }
}
