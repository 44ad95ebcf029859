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

    /// Where the bytes of a file are written.
    package func place(of file: ManifestFile, in version: String) -> String {
        path(of: file.path, in: version)
    }

    /// The directory of a version that is ready.
    package func path(of version: String) -> String {
        switch kind {
        case .plain, .oci, .hfCache: directory
        case .versions: "\(directory)/\(Self.subdirectory(version))"
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
        case .plain, .oci, .hfCache: []
        case .versions:
            [.link(path: "\(directory)/current", target: Self.subdirectory(manifest.version))]
        }
    }

    /// A colon separates paths in variables as `PATH`.
    private static func subdirectory(_ version: String) -> String {
        "versions/\(version.replacing(UInt8(ascii: ":"), with: "-"))"
    }
}
