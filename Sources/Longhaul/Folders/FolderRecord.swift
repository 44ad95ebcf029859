internal import LonghaulCore
internal import LonghaulStore

/// A watched folder as commands show it.
package struct FolderRecord: Sendable {
    package var name: String
    package var settings: FolderSettings
    package var state: FolderState
    /// Files that are not sent yet.
    package var waiting: Int
    /// Transfers of the list that have completed.
    package var uploaded: Int
    package var failed: Int
    package var skipped: Int
    package var lastScan: Timestamp?
    /// Why the folder is not watched, or else why one of its files cannot be sent.
    package var error: LonghaulError?
    /// Why the directory is scanned at intervals.
    package var scansBecause: String?
    package var waitingFor: [WaitReason] = []

    package var session: String { .session(ofFolder: name) }

    init(_ folder: StoredFolder, _ counts: [TransferState: Int]) {
        let findings = folder.findings
        name = folder.name
        settings = folder.settings
        state = folder.state
        let states: [TransferState] = [.waiting, .running, .paused]
        waiting = findings.pending + states.reduce(0) { $0 + counts[$1, default: 0] }
        uploaded = counts[.completed, default: 0]
        failed = findings.refused + counts[.failed, default: 0]
        skipped = findings.skipped
        lastScan = findings.lastScan
        error = findings.error ?? findings.refusal
        scansBecause = findings.scansBecause
    }

    /// What happens next, in a sentence.
    package var forecast: String {
        switch state {
        case .paused: "`longhaul folder resume \(name)` continues"
        case .failed: "it is watched again when the directory is back"
        case .scanning: "its files are looked for"
        case .watching where waiting > 0:
            "\(waiting) \(waiting == 1 ? "file is" : "files are") to be sent"
        case .watching: "it waits for files"
        }
    }
}

extension FolderRecord: ShownRecord {
    package static let fields: [ShownField<FolderRecord>] = [
        ShownField("name", "folder") { $0.name },
        ShownField("directory", "directory", at: 1) { $0.settings.directory },
        ShownField("url", "url", at: 1) { Redaction.url($0.settings.askedURL) },
        ShownField("state", "state", at: 2) { $0.state.rawValue },
        ShownField("waiting", "waiting", at: 3) { $0.waiting },
        ShownField("uploaded", "uploaded", at: 3) { $0.uploaded },
        ShownField("failed", "failed", at: 3) { $0.failed },
        ShownField("skipped", "skipped", at: 3) { $0.skipped },
        ShownField("settle", "settle", at: 4) { $0.settings.settle },
        ShownField("recursive", "recursive", at: 4) { $0.settings.isRecursive },
        ShownField("include") { $0.settings.include },
        ShownField("exclude") { $0.settings.exclude },
        ShownField("after", "after", at: 4) { $0.settings.ending.description },
        ShownField("lastScan", "last scan", at: 6) { $0.lastScan },
        ShownField("waitingFor") { $0.waitingFor },
        ShownField("error") { $0.error },
    ]
}
