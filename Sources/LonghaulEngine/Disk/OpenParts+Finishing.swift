internal import LonghaulCore
internal import LonghaulPlatform

/// Group commit: one sync of the file system and one of the directory for a whole batch of small
/// files.
extension OpenParts {
    func secure(_ orders: [(FetchID, length: Int64)]) {
        var parts: [(fetch: FetchID, file: PartFile, length: Int64)] = []
        for (fetch, length) in orders {
            guard let part = file(of: fetch) else {
                // Closed meanwhile; its place in the queue is freed all the same.
                report(fetch, .secureFailed(OpenParts.closedMeanwhile))
                continue
            }
            do throws(SystemFailure) {
                if let fault = try PartChecks.fit(part, to: length) {
                    report(fetch, .secureFailed(fault))
                } else {
                    parts.append((fetch, part, length))
                }
            } catch {
                report(fetch, .secureFailed(LocalFault(error)))
            }
        }
        let items = parts.map { FinishItem(part: $0.file, name: $0.file.name, policy: .fail) }
        let failures = GroupCommit.makeDurable(items)
        for (part, failure) in zip(parts, failures) {
            if let failure {
                board.distrust(part.fetch)
                report(part.fetch, .secureFailed(LocalFault(failure)))
            } else {
                report(part.fetch, checked(part.file, part.length))
            }
        }
    }

    /// The facts of a durable file before it is published.
    private func checked(_ part: PartFile, _ length: Int64) -> FetchEvent {
        do throws(SystemFailure) {
            return try PartChecks.gap(in: part, before: length).map { .secureFailed($0) }
                ?? .secured
        } catch {
            return .secureFailed(LocalFault(error))
        }
    }

    func publish(_ orders: [(FetchID, PublicationOrder)]) {
        var parts: [(fetch: FetchID, item: FinishItem, wanted: String)] = []
        for (fetch, order) in orders {
            guard let part = file(of: fetch), let name = PathParts.split(order.destination)?.name
            else {
                report(fetch, .publishFailed(OpenParts.closedMeanwhile))
                continue
            }
            // A disk without such times keeps the file all the same.
            if let modified = order.modified { part.setModified(modified) }
            let item = FinishItem(part: part, name: name, policy: order.finalPolicy)
            parts.append((fetch, item, order.wanted))
        }
        for (part, outcome) in zip(parts, GroupCommit.publish(parts.map(\.item))) {
            report(part.fetch, event(for: outcome, part.item, wanted: part.wanted))
        }
    }

    private func event(
        for outcome: FinishOutcome, _ item: FinishItem, wanted: String
    ) -> FetchEvent {
        let path = item.part.directory.path(of: item.name)
        switch outcome {
        case .published(let name): return .published(path: item.part.directory.path(of: name))
        case .occupied:
            var next: String?
            if item.policy == .rename, let name = PathParts.split(wanted)?.name {
                let directory = item.part.directory
                let isRefused = directory.refusal(of: name) != nil
                next = Publication.freeName(
                    like: isRefused ? FileNaming.portable(name) : name, in: directory
                ).map(directory.path(of:))
            }
            // Directories, devices and the like block a transfer even if it may replace files.
            let advice =
                item.policy == .overwrite
                ? "it is no file but a device, a pipe or a socket: move it away and resume"
                : "move it away, or `set --if-exists overwrite` or `rename`; then resume"
            return .occupied(
                next: next,
                LocalFault(
                    code: .destinationExists,
                    message: "\(path) exists by now and was left alone; the new file's bytes are "
                        + "kept. " + advice))
        case .partLost:
            return PartChecks.displacement(of: item.part)
                ?? .publishFailed(
                    LocalFault(
                        code: .io,
                        message: "the part file of \(path) was away when it was to be published, "
                            + "and is back; resume the transfer"))
        case .failed(let failure):
            guard let refusal = item.part.directory.refusal(of: item.name) else {
                return .publishFailed(LocalFault(failure))
            }
            // The machine takes the next one where the server has chosen this one.
            let portable = FileNaming.portable(item.name)
            return .occupied(
                next: item.part.directory.path(of: portable), LocalFault(refusal))
        }
    }
}

extension PublicationOrder {
    /// Another program's file that the download continued is replaced if it is unchanged.
    fileprivate var finalPolicy: ExistingFilePolicy {
        guard let kept = continued, kept.path == destination,
            let file = FileInspection.file(at: kept.path), file.identity == kept.identity,
            file.size == kept.length, file.touched == kept.finishedAt
        else { return policy }
        return .overwrite
    }
}
