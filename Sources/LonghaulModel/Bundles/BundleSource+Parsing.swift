/// Bytes of a revision or tag.
private let versionBytes = 255

extension BundleSource {
    /// True for the text of a source, valid or not; false for a URL. `s3://BUCKET/KEY` without a
    /// slash at its end is one object's URL.
    package static func isSource(_ text: String) -> Bool {
        guard let kind = scheme(of: text)?.kind else { return false }
        return kind != .s3 || (text.hasSuffix("/") && text != "s3://")
    }

    private static func scheme(of text: String) -> (kind: Kind, rest: Substring)? {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")),
            let kind = Kind(rawValue: text[..<colon].lowercased())
        else { return nil }
        return (kind, text[text.utf8.index(after: colon)...])
    }

    /// Parses SOURCE as typed, and records what it depends on.
    ///
    /// - Parameters:
    ///   - environment: Of the command; see ``recorded(environment:directory:)``.
    ///   - directory: Where the path of a list is relative to.
    package init(
        parsing text: String, environment: [String: String], platform: String? = nil,
        directory: String? = nil
    ) throws(LonghaulError) {
        guard let (kind, rest) = Self.scheme(of: text) else {
            throw .usage(
                "'\(TerminalText.shown(text))' is not a source; write list:, sums:, hf:, github:, "
                    + "zenodo:, oci: or s3://")
        }
        if platform != nil, kind != .ociImage {
            throw .usage("only an image has a platform; leave the option out")
        }
        var source: BundleSource
        switch kind {
        case .list, .checksums, .zenodo, .ociImage:
            source = BundleSource(kind, String(rest), platform: platform)
        case .huggingFace, .gitHub:
            let parts = rest.split(
                separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
            source = BundleSource(
                kind, String(parts[0]), version: parts.count > 1 ? String(parts[1]) : nil)
        case .s3: source = BundleSource(kind, String(rest.hasPrefix("//") ? rest.dropFirst(2) : ""))
        }
        self = try source.recorded(environment: environment, directory: directory)
    }

    /// The source in its canonical form, with what it depends on: the service's URL from the
    /// environment. Nothing secret is recorded.
    package func recorded(
        environment: [String: String], directory: String? = nil
    ) throws(LonghaulError) -> BundleSource {
        var source = self
        switch kind {
        case .list: source.name = try listPlace(directory)
        case .checksums: source.name = try Self.url(name, "the list")
        case .huggingFace: try source.recordHub(environment)
        case .gitHub: try source.recordRelease(environment)
        case .zenodo:
            guard let number = name.decimalValue, number > 0 else {
                throw .usage("'\(shownName)' is no record's number; write zenodo:1234567")
            }
            source.name = String(number)
            source.endpoint = try Self.service("ZENODO_URL", "https://zenodo.org", environment)
        case .ociImage: try source.recordImage()
        case .s3:
            let bucket = name.utf8.prefix { $0 != UInt8(ascii: "/") }
            guard name.utf8.last == UInt8(ascii: "/"), !bucket.isEmpty,
                bucket.allSatisfy(\.isNameCharacter)
            else { throw .usage("a set of objects of S3 is written s3://BUCKET/PREFIX/") }
        }
        return source
    }

    private var shownName: String { TerminalText.shown(name) }

    private func listPlace(_ directory: String?) throws(LonghaulError) -> String {
        if name == "-" || name.isAbsolutePath { return name }
        if name.firstRange(of: "://") != nil { return try Self.url(name, "the list") }
        guard !name.isEmpty, let directory else {
            throw .usage("'\(shownName)' is no list; write list:FILE, list:URL or list:-")
        }
        return "\(directory)/\(name)"
    }

    private static func url(_ text: String, _ what: String) throws(LonghaulError) -> String {
        do throws(URLProblem) {
            let parts = try URLParts(text)
            if parts.userInfo == nil { return text }
        } catch {
            throw .usage("\(what) has no usable URL: \(error)")
        }
        throw .usage("the URL of \(what) must have no user and no password; give --user")
    }

    /// The URL of a service, without a slash at its end.
    private static func service(
        _ variable: String, _ standard: String, _ environment: [String: String]
    ) throws(LonghaulError) -> String {
        guard var text = environment[variable], !text.isEmpty else { return standard }
        text = try url(text, variable)
        while text.utf8.last == UInt8(ascii: "/") { text.removeLast() }
        return text
    }

    // MARK: - Repositories

    private mutating func recordHub(_ environment: [String: String]) throws(LonghaulError) {
        var parts = name.split(separator: "/", omittingEmptySubsequences: false)
        if parts.count > 1, parts[0] == "models" { parts.removeFirst() }
        let isKind = parts.count > 1 && (parts[0] == "datasets" || parts[0] == "spaces")
        let segments = isKind ? parts.dropFirst() : parts[...]
        guard (1...2).contains(segments.count), segments.allSatisfy(Self.isName),
            // The hub's own client separates names of directories so.
            segments.allSatisfy({ $0.firstRange(of: "--") == nil })
        else {
            throw .usage(
                "'\(shownName)' is no repository of the hub; write hf:ORG/NAME, "
                    + "hf:datasets/ORG/NAME or hf:spaces/ORG/NAME")
        }
        name = parts.joined(separator: "/")
        version = try Self.checked(version: version ?? "main")
        endpoint = try Self.service("HF_ENDPOINT", "https://huggingface.co", environment)
    }

    private mutating func recordRelease(_ environment: [String: String]) throws(LonghaulError) {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy(Self.isName) else {
            throw .usage("'\(shownName)' is no repository; write github:OWNER/REPO")
        }
        if let version { self.version = try Self.checked(version: version) }
        endpoint = try Self.service("GITHUB_API_URL", "https://api.github.com", environment)
    }

    private mutating func recordImage() throws(LonghaulError) {
        guard let reference = OCIReference(parsing: OCIReference.text(name, version)) else {
            throw .usage(
                "'\(shownName)' is no image; write oci:NAME:TAG, oci:REGISTRY/NAME:TAG or "
                    + "oci:NAME@sha256:DIGEST")
        }
        name = "\(reference.registry)/\(reference.repository)"
        version = reference.version
        endpoint = reference.endpoint
        let wanted = platform ?? OCIReference.ownPlatform
        let parts = wanted.split(separator: "/", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count), parts.allSatisfy(Self.isName) else {
            throw .usage(
                "'\(TerminalText.shown(wanted))' is no platform; write OS/ARCH, as linux/arm64")
        }
        platform = wanted
    }

    private static func isName(_ text: Substring) -> Bool {
        text != "." && text != ".." && (1...100).contains(text.utf8.count)
            && text.utf8.allSatisfy(\.isNameCharacter)
    }

    /// Revisions and tags are names of git's, which become parts of URLs and paths
    /// (git-check-ref-format(1)).
    private static func checked(version: String) throws(LonghaulError) -> String {
        let parts = version.split(separator: "/", omittingEmptySubsequences: false)
        guard version.utf8.count <= versionBytes,
            version.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\\") }),
            parts.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." })
        else {
            throw .usage("'\(TerminalText.shown(version))' is no revision or tag")
        }
        return version
    }
}
