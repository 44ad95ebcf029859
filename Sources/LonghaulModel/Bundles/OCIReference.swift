/// Where Docker Hub's images are.
private let dockerHub = "docker.io"

/// The name of an image: `[REGISTRY/]NAME[:TAG][@DIGEST]`, by the rules of Docker's command line
/// (distribution/reference).
struct OCIReference: Hashable {
    /// Host, with a port where one is given.
    var registry: String
    var repository: String
    /// The tag, the digest, or `TAG@DIGEST`.
    var version: String

    init?(parsing text: String) {
        var rest = text[...]
        var digest: Substring?
        if let at = rest.firstIndex(of: "@") {
            digest = rest[rest.index(after: at)...]
            rest = rest[..<at]
        }
        var tag: Substring?
        if let colon = rest.lastIndex(of: ":"), !rest[colon...].contains("/") {
            tag = rest[rest.index(after: colon)...]
            rest = rest[..<colon]
        }
        var parts = rest.split(separator: "/", omittingEmptySubsequences: false)
        registry = dockerHub
        if parts.count > 1, Self.isRegistry(parts[0]) { registry = String(parts.removeFirst()) }
        if registry == dockerHub || registry == "index.docker.io" {
            registry = dockerHub
            if parts.count == 1 { parts.insert("library", at: 0) }
        }
        guard let address = try? URLParts("https://\(registry)/"), address.userInfo == nil,
            parts.allSatisfy(Self.isPart), rest.utf8.count <= 255,
            tag.map(Self.isTag) ?? true, digest.map(Self.isDigest) ?? true
        else { return nil }
        repository = parts.joined(separator: "/")
        version =
            switch (tag, digest) {
            case (let tag?, let digest?): "\(tag)@\(digest)"
            case (nil, let digest?): String(digest)
            case (let tag, nil): String(tag ?? "latest")
            }
    }

    /// The address that requests go to. A registry on this machine speaks HTTP.
    var endpoint: String {
        if registry == dockerHub { return "https://registry-1.docker.io" }
        let host = (try? URLParts("https://\(registry)/"))?.host ?? registry
        return (Loopback.isLoopback(host: host) ? "http://" : "https://") + registry
    }

    /// The text of an image, from its name and its tag, its digest, or both.
    static func text(_ name: String, _ version: String?) -> String {
        guard let version else { return name }
        return isDigest(version[...]) ? "\(name)@\(version)" : "\(name):\(version)"
    }

    /// Platform of images for this machine.
    static var ownPlatform: String {
        #if arch(arm64)
        "linux/arm64"
        #else
        "linux/amd64"
        #endif
    }

    private static func isRegistry(_ part: Substring) -> Bool {
        part == "localhost" || part.contains(".") || part.contains(":")
    }

    private static func isPart(_ part: Substring) -> Bool {
        guard let first = part.utf8.first, let last = part.utf8.last else { return false }
        return part.utf8.allSatisfy { $0.isNameCharacter && $0 == $0.asciiLowercased }
            && [first, last].allSatisfy { $0.isASCIILetter || $0.isASCIIDigit }
    }

    private static func isTag(_ tag: Substring) -> Bool {
        guard let first = tag.utf8.first, tag.utf8.count <= 128 else { return false }
        return first != 0x2E && first != 0x2D && tag.utf8.allSatisfy(\.isNameCharacter)
    }

    private static func isDigest(_ text: Substring) -> Bool {
        Checksum(ociDigest: text) != nil
    }
}

extension Checksum {
    /// `sha256:HEX` or `sha512:HEX` (OCI Image Specification, "Digests").
    package init?(ociDigest text: some StringProtocol) {
        guard let checksum = Checksum(parsing: String(text)),
            checksum.algorithm == .sha256 || checksum.algorithm == .sha512,
            checksum.description == text
        else { return nil }
        self = checksum
    }
}
