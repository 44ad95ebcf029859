/// Where the files of a bundle come from: a list of files, and a version of it.
///
/// The makers copy their arguments unchecked; a source is checked when a bundle is added, which
/// throws `invalidRequest` if it names nothing.
public struct BundleSource: Hashable, Codable, Sendable {
    /// Raw values are the schemes of the text, and stored.
    package enum Kind: String, Codable, CaseIterable, Sendable {
        case list
        case checksums = "sums"
        case huggingFace = "hf"
        case gitHub = "github"
        case zenodo
        case ociImage = "oci"
        case s3
    }

    package let kind: Kind
    /// What follows the scheme, without the version: a path or URL, `datasets/ORG/NAME`,
    /// `OWNER/REPO`, the number of a record, `REGISTRY/NAME`, `BUCKET/PREFIX/`.
    package internal(set) var name: String
    /// Revision, tag or digest; `nil` = the newest, or the source has no versions.
    package internal(set) var version: String?
    /// Of an image: `OS/ARCH`, or `OS/ARCH/VARIANT`.
    package internal(set) var platform: String?
    /// URL of the service without a slash at its end, as it was when the bundle was added. Of S3 it
    /// is the bucket's, and found with the keys.
    package var endpoint: String?
    /// Region that requests to S3 are signed for.
    package var region: String?

    init(
        _ kind: Kind, _ name: String, version: String? = nil, platform: String? = nil
    ) {
        self.kind = kind
        self.name = name
        self.version = version
        self.platform = platform
    }
}

extension BundleSource {
    /// JSON Lines with one file each: `{"path", "url", "size", "sha256"}`.
    ///
    /// - Parameter place: An absolute path, or a URL.
    public static func list(_ place: String) -> BundleSource { BundleSource(.list, place) }

    /// A list of digests as sha256sum and BSD's tools write it. The files are beside it.
    public static func checksums(_ url: String) -> BundleSource { BundleSource(.checksums, url) }

    /// A repository of the Hugging Face Hub, or of the hub that `HF_ENDPOINT` names.
    ///
    /// - Parameters:
    ///   - repository: `ORG/NAME`, `datasets/ORG/NAME` or `spaces/ORG/NAME`.
    ///   - revision: A branch, a tag or a commit.
    public static func huggingFace(
        _ repository: String, revision: String = "main"
    ) -> BundleSource {
        BundleSource(.huggingFace, repository, version: revision)
    }

    /// The assets of a release at GitHub, or at the server whose API `GITHUB_API_URL` names.
    ///
    /// - Parameters:
    ///   - repository: `OWNER/REPO`.
    ///   - tag: `nil` = the latest release.
    public static func gitHub(_ repository: String, tag: String? = nil) -> BundleSource {
        BundleSource(.gitHub, repository, version: tag)
    }

    /// The files of a record at Zenodo, or at the server that `ZENODO_URL` names.
    public static func zenodo(_ record: Int) -> BundleSource {
        BundleSource(.zenodo, String(record))
    }

    /// A container image (OCI Distribution Specification).
    ///
    /// - Parameters:
    ///   - image: `[REGISTRY/]NAME[:TAG][@DIGEST]`; without a registry Docker Hub's.
    ///   - platform: `OS/ARCH[/VARIANT]`; `nil` = Linux on this machine's processor.
    public static func ociImage(_ image: String, platform: String? = nil) -> BundleSource {
        BundleSource(.ociImage, image, platform: platform)
    }

    /// All objects of a bucket below a prefix. Region, endpoint and keys are found as for uploads
    /// to S3.
    ///
    /// - Parameters:
    ///   - bucket: Its name.
    ///   - prefix: Ends with a slash, or is empty.
    public static func s3(_ bucket: String, prefix: String = "") -> BundleSource {
        BundleSource(.s3, "\(bucket)/\(prefix)")
    }
}

/// How the files of a bundle are laid out in its directory.
public enum BundleLayoutKind: String, Codable, CaseIterable, Sendable {
    /// `DIR/PATH`: a newer version replaces file by file.
    case plain
    /// `DIR/versions/ID/PATH`, and `DIR/current` links to the version that is ready.
    case versions
    /// The cache of the Hugging Face Hub's own client.
    case hfCache = "hf-cache"
    /// An OCI image layout, as skopeo and umoci read it.
    case oci

    /// Files have the names of their digests, so that one place never has two contents.
    package var namesByContent: Bool { self == .hfCache || self == .oci }
}

extension BundleSource: CustomStringConvertible {
    /// The text that a command takes as SOURCE, with the version that was meant. A URL in it may
    /// have secrets.
    public var description: String {
        switch kind {
        case .list, .checksums, .zenodo: "\(kind.rawValue):\(name)"
        case .huggingFace, .gitHub: "\(kind.rawValue):\(name)" + (version.map { "@\($0)" } ?? "")
        case .ociImage: "oci:\(OCIReference.text(name, version))"
        case .s3: "s3://\(name)"
        }
    }

    /// The same, without secrets and fit for a terminal.
    package var shown: String {
        let isURL = kind == .list || kind == .checksums
        return TerminalText.shown(
            isURL ? "\(kind.rawValue):\(Redaction.url(name))" : description)
    }

    /// A name for the bundle: `Qwen3-8B` of `hf:Qwen/Qwen3-8B`.
    package var defaultName: String {
        let path =
            switch kind {
            case .list: String(name.prefix { $0 != "?" })
            case .checksums: directoryOfURL
            case .huggingFace, .gitHub, .ociImage, .s3: name
            case .zenodo: "zenodo-\(name)"
            }
        var last = path.split(separator: "/").last ?? ""
        if kind == .list, let dot = last.lastIndex(of: "."), dot > last.startIndex {
            last = last[..<dot]
        }
        let plain = last.utf8.map { $0.isNameCharacter ? $0 : UInt8(ascii: "-") }
        let trimmed = plain.drop { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") }
        return trimmed.isEmpty ? kind.rawValue : String(decoding: trimmed, as: UTF8.self)
    }

    /// Of `https://host/releases/24.04/SHA256SUMS` the part `host/releases/24.04`.
    private var directoryOfURL: String {
        guard let parts = try? URLParts(name) else { return "" }
        return parts.host + FileNaming.directory(of: parts.path)
    }

    package var defaultLayout: BundleLayoutKind { kind == .ociImage ? .oci : .plain }

    package func allows(_ layout: BundleLayoutKind) -> Bool {
        switch layout {
        case .plain, .versions: kind != .ociImage
        case .hfCache: kind == .huggingFace
        case .oci: kind == .ociImage
        }
    }

    /// A signature beside the list may be asked for.
    package var mayBeSigned: Bool { kind == .checksums }

    /// The digests of the source guard against attackers, too.
    package var isAuthentic: Bool { kind != .zenodo }

    /// Where a person sees the source, asks for access or accepts its conditions; `nil` = there is
    /// no page.
    package var page: String? {
        guard let endpoint else { return nil }
        switch kind {
        case .huggingFace: return "\(endpoint)/\(name)"
        case .gitHub:
            // GitHub Enterprise Server has its API below its pages.
            if let end = endpoint.firstRange(of: "/api/") {
                return "\(endpoint[..<end.lowerBound])/\(name)"
            }
            return endpoint == "https://api.github.com" ? "https://github.com/\(name)" : nil
        case .zenodo: return "\(endpoint)/records/\(name)"
        case .list, .checksums, .ociImage, .s3: return nil
        }
    }

    /// Files that are fetched at a time; `nil` = as many as of any server. Zenodo refuses clients
    /// that ask for more.
    package var filesAtOnce: Int? { kind == .zenodo ? 2 : nil }
}
