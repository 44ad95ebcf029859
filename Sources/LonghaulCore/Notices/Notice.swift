package import LonghaulModel

/// Characters of an error in a notice.
private let noticeErrorCharacters = 300

/// A message for people: something has ended, or waits for an answer.
package struct Notice: Hashable, Sendable {
    /// The occurrence. The text is an interface: commands get it as `LONGHAUL_EVENT`.
    package enum Event: String, Hashable, Sendable, CaseIterable {
        case completed, failed
        /// An answer is needed.
        case input
        /// A task or an activity has used up its time, or a continued task reports nothing.
        case expired
    }

    package var event: Event
    /// Transfer, or name of the session, bundle, job or task.
    package var id: String
    /// Name of the file or of the set.
    package var name: String
    /// State of what the notice is about, as `list --json` has it.
    package var state: String?
    /// Absolute path of the file or directory.
    package var path: String?
    /// Redacted.
    package var url: String?
    package var bytes: Int64?
    package var error: String?
    /// Transfers of a batch, by how they have ended; empty for anything else.
    package var ends: [TransferState: Int] = [:]

    package init(_ event: Event, id: String, name: String) {
        self.event = event
        self.id = id
        self.name = name
    }

    /// The end of one transfer, or its need of an answer.
    ///
    /// - Parameter event: `nil` = by its state.
    package init?(_ transfer: Transfer, _ event: Event? = nil) {
        let happened: Event? =
            switch transfer.state {
            case .completed: .completed
            case .failed: .failed
            case .waiting, .running, .paused, .cancelled: event
            }
        guard let happened else { return nil }
        self.init(
            happened, id: "\(transfer.id)",
            name: transfer.path.split(separator: "/").last.map(String.init) ?? transfer.path)
        state = transfer.state.rawValue
        path = transfer.path
        url = Redaction.url(transfer.url)
        bytes = transfer.bytesDone
        error = transfer.error?.message
    }

    /// The end of a continued task; `nil` = a person has stopped it.
    package init?(continued identifier: String, title: String, _ run: TaskRun) {
        let happened: Event
        switch (run.result, run.expiration) {
        case (.success, _), (.noData, _): happened = .completed
        case (.failure, _), (.deferred, _): happened = .failed
        case (nil, .cancelled): return nil
        case (nil, .some): happened = .expired
        case (nil, nil): happened = .failed
        }
        self.init(happened, id: identifier, name: title)
        state = "done"
        error = run.expiration?.text
    }

    /// The end of a run of a job.
    ///
    /// - Parameter failure: How it failed; `nil` = it is done.
    package init(job name: String, failure: String?) {
        self.init(failure == nil ? .completed : .failed, id: name, name: name)
        error = failure
    }

    /// A task, or an activity, of a host has used up its time.
    package init(expired name: String, of host: String, _ reason: ExpirationReason = .time) {
        self.init(.expired, id: name, name: name)
        error = "\(reason.text) (host \(host))"
    }

    /// The end of several transfers that belong together; `nil` = a user has cancelled all of them.
    ///
    /// - Parameters:
    ///   - name: Of the batch; `nil` = it has none.
    ///   - failure: The error of one that has failed.
    package init?(
        batch id: String, _ name: String?, _ ends: [TransferState: Int], failure: LonghaulError?
    ) {
        let completed = ends[.completed] ?? 0
        let failed = ends[.failed] ?? 0
        if completed + failed == 0 { return nil }
        self.init(
            failed > 0 ? .failed : .completed, id: id,
            name: name ?? Self.count(completed + failed + (ends[.cancelled] ?? 0)))
        state = failed > 0 ? TransferState.failed.rawValue : TransferState.completed.rawValue
        self.ends = ends
        error = failure?.message
    }

    private static func count(_ transfers: Int) -> String {
        transfers == 1 ? "1 transfer" : "\(transfers) transfers"
    }

    /// One line.
    package var title: String {
        switch event {
        case .completed: "\(name) completed"
        case .failed: "\(name) failed"
        case .input: "\(name) needs an answer"
        case .expired: "\(name) has used up its time"
        }
    }

    package var text: String {
        var parts: [String] = []
        if !ends.isEmpty, Set(ends.keys) != [.completed] {
            let ended: [TransferState] = [.completed, .failed, .cancelled]
            parts.append(
                ended.compactMap { state in ends[state].map { "\($0) \(state.rawValue)" } }
                    .joined(separator: ", "))
        }
        if event == .completed {
            if let path { parts.append(path) }
        } else if let error {
            parts.append(String(error.prefix(noticeErrorCharacters)))
        } else if event == .input {
            parts.append("`longhaul why \(id)` tells which")
        }
        return parts.joined(separator: "\n")
    }

    /// The variables that a command of the user gets. Unknown facts are empty: the command may rely
    /// on each variable.
    package var environment: [String: String] {
        [
            "LONGHAUL_EVENT": event.rawValue, "LONGHAUL_ID": id, "LONGHAUL_NAME": name,
            "LONGHAUL_STATE": state ?? "", "LONGHAUL_PATH": path ?? "",
            "LONGHAUL_URL": url ?? "", "LONGHAUL_BYTES": bytes.map { "\($0)" } ?? "",
            "LONGHAUL_ERROR": error ?? "",
        ]
    }
}
