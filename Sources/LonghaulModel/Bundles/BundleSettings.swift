/// When the files of a bundle are fetched (BackgroundAssets' download policies).
public enum BundlePolicy: String, Codable, Sendable, CaseIterable {
    /// At once. The default.
    case essential
    /// The engine picks the moment.
    case prefetch
    /// Only the manifest, until the bundle is ensured.
    case onDemand = "on-demand"
}

/// The state of a bundle, derived from its row.
public enum BundleState: String, Codable, Sendable, CaseIterable {
    /// No version is here, and none is being fetched.
    case absent
    /// The source is being asked for its manifest.
    case checking
    /// Files are being fetched.
    case fetching
    /// Every file of a version is durable under its name.
    case ready
    /// Ready, and the source has a newer version.
    case outdated
    /// The last attempt failed, and no version is ready.
    case failed
    /// A client has paused the bundle.
    case paused
}

/// What was asked for a bundle, besides its name, source and directory. Stored as one JSON text.
package struct BundleSettings: Hashable, Codable, Sendable {
    /// Globs of the files that are fetched; empty = all.
    package var include: [String] = []
    /// Globs of the files that are not fetched. They precede ``include``.
    package var exclude: [String] = []
    package var policy = BundlePolicy.essential
    /// Seconds from one look for a newer version to the next; `nil` = only when asked to.
    package var every: Double?
    /// Old versions that stay, in the layout `versions`.
    package var keep = 1
    /// Absolute path of the key that has to have signed the list.
    package var signedBy: String?
    /// The events of single files are recorded, too.
    package var fileEvents = false
    /// Changed files are replaced.
    package var overwrites = false
    /// Sent to the source's origin alone.
    package var secret: BundleSecret?

    /// The parts of the request that all files have in common.
    package var common = RequestSettings()

    package init() {}
}

extension BundleSettings {
    /// Keeps the parts of a request that its transfers have in common.
    package mutating func adopt(_ request: TransferRequest) {
        common = RequestSettings(request)
        overwrites = request.options.ifExists == .overwrite
    }

    /// A request of the bundle's session.
    package func request(_ url: String, to path: String, session: String) -> TransferRequest {
        var request = common.request(url, path, session: session)
        request.options.ifExists = .overwrite
        request.isDiscretionary = policy == .prefetch
        return request
    }
}

extension String {
    /// The session of a bundle's transfers and events.
    package static func session(ofBundle name: String) -> String { "bundle:" + name }
}
