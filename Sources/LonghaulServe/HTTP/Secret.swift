package import Longhaul
internal import LonghaulPlatform

/// A secret that clients have to know.
package struct Secret: Sendable {
    private let bytes: [UInt8]

    /// - Throws: `invalidRequest` for an empty one.
    package init(_ text: String) throws(LonghaulError) {
        bytes = Array(text.utf8)
        if bytes.isEmpty { throw LonghaulError(.invalidRequest, "the secret is empty") }
    }

    /// 192 random bits, as hexadecimal digits.
    static func randomText() -> String {
        var random = SystemRandom()
        return (0..<3).map { _ in
            let digits = String(random.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }.joined()
    }

    /// The time does not depend on where the two differ.
    func matches(_ text: String) -> Bool {
        let given = Array(text.utf8)
        var difference = UInt64(bitPattern: Int64(given.count ^ bytes.count))
        for (index, byte) in given.enumerated() {
            difference |= UInt64(byte ^ bytes[index % bytes.count])
        }
        return difference == 0
    }
}

/// The file that holds the secret, in its first line.
package enum SecretFile {
    /// - Throws: `invalidRequest` for a file that is missing or holds no secret; `permission` for
    ///   one that others can read.
    package static func read(_ path: String) throws(LonghaulError) -> Secret {
        func problem(_ what: String) -> LonghaulError {
            LonghaulError(.invalidRequest, "--secret-file: \(path) \(what)")
        }
        let bytes: [UInt8]?
        do {
            bytes = try TextFile.read(path)
        } catch {
            throw problem("cannot be read: \(error.reason)")
        }
        guard let bytes else { throw problem("does not exist") }
        if TextFile.isOpenToOthers(path) {
            throw LonghaulError(
                .permission,
                "--secret-file: other users can read or change \(path); chmod 600 \(path)")
        }
        guard let secret = firstLine(of: bytes) else { throw problem("is not UTF-8 text") }
        return try Secret(secret)
    }

    /// Without what editors leave: a byte order mark, a carriage return, blanks at the ends. `nil`:
    /// it is not UTF-8.
    static func firstLine(of bytes: [UInt8]) -> String? {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = bytes.starts(with: mark) ? bytes.dropFirst(mark.count) : bytes[...]
        let line = text.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        return String(validating: line, as: UTF8.self)?.trimmingBlanks
    }

    /// Creates a random secret of 192 bits.
    ///
    /// - Parameter path: `nil` = `longhaul/secret` in the user's directory for configuration.
    /// - Returns: The path of the file.
    /// - Throws: `conflict` where a file has the name.
    package static func create(at path: String?) throws(LonghaulError) -> String {
        let standard = UserDirectories.configuration(environment: Environment.all())
        guard let path = path ?? standard.map({ PathParts.join($0, "longhaul/secret") }) else {
            throw .usage("--new-secret: there is no home directory; --secret-file names a place")
        }
        do {
            try TextFile.createPrivate(Secret.randomText() + "\n", at: path)
        } catch {
            if error.isNameInUse {
                throw LonghaulError(
                    .conflict, "--new-secret: \(path) exists; remove it to make another one")
            }
            throw error.longhaulError()
        }
        return path
    }
}
