package import LonghaulModel

/// What makes a version of a bundle ready, in the order in which it must become durable.
package enum LayoutStep: Hashable, Sendable {
    /// A file of these bytes, which replaces the one that is there.
    case write(path: String, [UInt8])
    /// A symbolic link, which replaces the one that is there by a rename.
    case link(path: String, target: String)
}

/// Where the files of a bundle are.
package struct BundleLayout: Sendable {
    private let kind: BundleLayoutKind
    private let directory: String
    private let source: BundleSource

    /// - Parameter directory: An absolute path.
    package init(_ kind: BundleLayoutKind, directory: String, source: BundleSource) {
        precondition(source.allows(kind), "a layout is made for its sources")
        self.kind = kind
        self.directory = directory
        self.source = source
    }

    /// Where the bytes of a file are written. In the hub's cache files with equal bytes are one.
    package func place(of file: ManifestFile, in version: String) -> String {
        switch kind {
        case .plain, .versions, .oci: path(of: file.path, in: version)
        case .hfCache: "\(repository)/blobs/\(file.name ?? file.path)"
        }
    }

    /// The directory of a version that is ready.
    package func path(of version: String) -> String {
        switch kind {
        case .plain, .oci: directory
        case .versions: "\(directory)/\(Self.subdirectory(version))"
        case .hfCache: "\(repository)/snapshots/\(version)"
        }
    }

    /// Where programs find a file of a version that is ready.
    package func path(of name: String, in version: String) -> String {
        "\(path(of: version))/\(name)"
    }

    /// The steps after all files of the manifest are durable. The last one makes the version
    /// current.
    package func finish(_ manifest: Manifest) -> [LayoutStep] {
        switch kind {
        case .plain: []
        case .versions:
            [.link(path: "\(directory)/current", target: Self.subdirectory(manifest.version))]
        case .hfCache: finishCache(manifest)
        case .oci: finishImage(manifest)
        }
    }

    /// A colon separates paths in variables as `PATH`.
    private static func subdirectory(_ version: String) -> String {
        "versions/\(version.replacing(UInt8(ascii: ":"), with: "-"))"
    }

    // MARK: - The hub's cache

    /// `models--ORG--NAME` (huggingface_hub, "Understand caching").
    private var repository: String {
        let parts =
            [source.hubKind.rawValue]
            + source.hubRepository.split(separator: "/")
            .map(String.init)
        return "\(directory)/\(parts.joined(separator: "--"))"
    }

    private func finishCache(_ manifest: Manifest) -> [LayoutStep] {
        let commit = manifest.version
        var steps = manifest.files.map { file in
            let depth = file.path.utf8.count { $0 == UInt8(ascii: "/") }
            let up = String(repeating: "../", count: depth + 2)
            return LayoutStep.link(
                path: path(of: file.path, in: commit), target: "\(up)blobs/\(file.name ?? "")")
        }
        if let revision = source.version, revision != commit {
            steps.append(.write(path: "\(repository)/refs/\(revision)", Array(commit.utf8)))
        }
        if case .hubTree(let tree) = manifest.layout {
            steps.append(.write(path: "\(repository)/trees/\(commit).json", tree))
        }
        return steps
    }

    // MARK: - OCI image layout

    /// OCI Image Specification, "Image Layout".
    private func finishImage(_ manifest: Manifest) -> [LayoutStep] {
        guard case .ociManifest(let bytes, let mediaType) = manifest.layout else { return [] }
        let name = manifest.version.replacing(UInt8(ascii: ":"), with: "/")
        let tag = source.version?.split(separator: "@").first.map(String.init)
        var index = Array(
            "{\"schemaVersion\":2,\"mediaType\":\"\(ImageType.index)\",\"manifests\":[".utf8)
        index += "{\"mediaType\":\"\(mediaType)\",\"digest\":\"\(manifest.version)\"".utf8
        index += ",\"size\":\(bytes.count)".utf8
        if let tag, Checksum(ociDigest: tag) == nil {
            index += ",\"annotations\":{\"org.opencontainers.image.ref.name\":\"\(tag)\"}".utf8
        }
        index += "}]}".utf8
        return [
            .write(path: "\(directory)/blobs/\(name)", bytes),
            .write(
                path: "\(directory)/oci-layout", Array("{\"imageLayoutVersion\":\"1.0.0\"}".utf8)),
            .write(path: "\(directory)/index.json", index),
        ]
    }
}
