internal import LonghaulCore
internal import LonghaulStore

/// A bundle as commands show it.
package struct BundleRecord: Sendable {
    /// The version that is ready.
    package struct Version: Sendable {
        package var id: String
        package var files: Int
        package var bytes: Int64
        /// All files are proved by digests.
        package var isProved: Bool
        package var isAuthentic: Bool
        package var signedBy: String?
        package var readyAt: Timestamp?
    }

    /// The newest version of the source.
    package struct Latest: Sendable {
        package var id: String
        package var seenAt: Timestamp?
    }

    /// Numbers of files.
    package struct Files: Sendable {
        package var total = 0
        package var complete = 0
        package var failed = 0
    }

    package var name: String
    package var source: BundleSource
    package var directory: String
    package var layout: BundleLayoutKind
    package var settings: BundleSettings
    package var state: BundleState
    package var version: Version?
    package var latest: Latest?
    package var files = Files()
    package var bytesDone: Int64 = 0
    package var bytesTotal: Int64?
    package var bytesFetched: Int64
    package var checkedAt: Timestamp?
    package var nextCheck: Timestamp?
    package var waitingFor: [WaitReason] = []
    package var forecast: Forecast
    package var error: LonghaulError?
    /// Entries of the manifest that are no files.
    package var passedOver = 0
    /// Transfers that move bytes now.
    package var running: [Transfer] = []
    /// Something is done for it, or would be if it were not paused.
    package var isUnderWay: Bool

    init(_ bundle: StoredBundle) {
        name = bundle.name
        source = bundle.source
        directory = bundle.directory
        layout = bundle.layout
        settings = bundle.settings
        state = bundle.state
        bytesFetched = bundle.bytesFetched
        checkedAt = bundle.checkedAt
        nextCheck = bundle.nextCheck
        error = bundle.error
        isUnderWay = bundle.phase != .idle
        forecast = Forecast(text: "")
        version = bundle.ready.map {
            Version(
                id: $0.name, files: $0.files, bytes: $0.bytes, isProved: $0.isProved,
                isAuthentic: bundle.source.isAuthentic, signedBy: $0.signedBy, readyAt: $0.readyAt)
        }
        latest = bundle.latest.map { Latest(id: $0, seenAt: bundle.latestSeen) }
        if let shown = bundle.target ?? bundle.ready {
            files = Files(total: shown.files, complete: shown.complete, failed: shown.failed)
            bytesDone = shown.bytesComplete
            bytesTotal = shown.bytes
            passedOver = shown.passedOver
        }
    }
}

extension BundleRecord: ShownRecord {
    package static let fields: [ShownField<BundleRecord>] = [
        ShownField("name", "bundle") { $0.name },
        ShownField("source", "source", at: 1) { $0.source.shown },
        ShownField("directory", "directory", at: 2) { $0.directory },
        ShownField("layout", "layout", at: 2) { $0.layout.rawValue },
        ShownField("policy", "policy", at: 5) { $0.settings.policy.rawValue },
        ShownField("every", "checked every", at: 5) { $0.settings.every },
        ShownField("state", "state", at: 3) { $0.state.rawValue },
        ShownField("version") { $0.version },
        ShownField("latest") { $0.latest },
        ShownField("files") { $0.files },
        ShownField("bytesDone") { $0.bytesDone },
        ShownField("bytesTotal") { $0.bytesTotal },
        ShownField("bytesFetched") { $0.bytesFetched },
        ShownField("checkedAt", "checked", at: 6) { $0.checkedAt },
        ShownField("nextCheck", "next check", at: 6) { $0.nextCheck },
        ShownField("waitingFor") { $0.waitingFor },
        ShownField("forecast") { $0.forecast },
        ShownField("error") { $0.error },
    ]
}

extension BundleRecord.Version: ShownRecord {
    package static let fields: [ShownField<Self>] = [
        ShownField("id") { $0.id },
        ShownField("files") { $0.files },
        ShownField("bytes") { $0.bytes },
        ShownField("proved") { $0.isProved },
        ShownField("authentic") { $0.isAuthentic },
        ShownField("signedBy") { $0.signedBy },
        ShownField("readyAt") { $0.readyAt },
    ]
}

extension BundleRecord.Latest: ShownRecord {
    package static let fields: [ShownField<Self>] = [
        ShownField("id") { $0.id },
        ShownField("seenAt") { $0.seenAt },
    ]
}

extension BundleRecord.Files: ShownRecord {
    package static let fields: [ShownField<Self>] = [
        ShownField("total") { $0.total },
        ShownField("complete") { $0.complete },
        ShownField("failed") { $0.failed },
    ]
}

/// The answer of `check`.
package struct BundleVersions: Sendable {
    private let bundle: BundleRecord

    package init(_ bundle: BundleRecord) {
        self.bundle = bundle
    }
}

extension BundleVersions: ShownRecord {
    package static let fields: [ShownField<Self>] = [
        ShownField("name") { $0.bundle.name },
        ShownField("version") { $0.bundle.version?.id },
        ShownField("latest") { $0.bundle.latest?.id },
        ShownField("changed") { $0.bundle.version?.id != $0.bundle.latest?.id },
    ]
}

/// A file of a bundle as `show --files` shows it.
package struct BundleFileRecord: Sendable {
    let file: BundleFile

    package var path: String { file.entry.path }
    package var state: String {
        switch file.state {
        case .waiting: "waiting"
        case .recorded: "fetching"
        case .complete: "complete"
        case .failed: "failed"
        }
    }
    package var size: Int64? { file.entry.size }
    package var proof: BundleProof? { file.proof }
    package var transfer: TransferID? { file.transfer }
    package var error: LonghaulError? { file.error }
}

extension BundleFileRecord: ShownRecord {
    package static let fields: [ShownField<Self>] = [
        ShownField("path") { $0.path },
        ShownField("url") { Redaction.url($0.file.entry.url) },
        ShownField("size") { $0.size },
        ShownField("digest") { $0.file.entry.digest?.description },
        ShownField("proof") { $0.proof?.rawValue },
        ShownField("state") { $0.state },
        ShownField("transfer") { $0.transfer },
        ShownField("error") { $0.error },
    ]
}

/// A file that `verify` has found to be wrong.
package struct BundleProblem: Sendable {
    package enum Kind: String, Sendable {
        case missing, size, digest, unreadable
    }

    package var path: String
    package var kind: Kind
}

extension BundleProblem: ShownRecord {
    package static let fields: [ShownField<Self>] = [
        ShownField("path") { $0.path },
        ShownField("problem") { $0.kind.rawValue },
    ]
}
