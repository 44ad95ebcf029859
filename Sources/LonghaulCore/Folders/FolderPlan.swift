package import LonghaulModel

/// A file of a watched folder that is not done with.
package struct FolderFile: Hashable, Sendable {
    /// The transfer that sends it, or the last one that did.
    package struct Sending: Hashable, Sendable {
        package var id: TransferID
        /// The file as that transfer sends it.
        package var version: SourceVersion
        /// The transfer has not ended.
        package var isLive = true
        /// The transfer has failed because the file was gone or another one. The present file may
        /// be sent.
        package var missedFile = false

        package init(id: TransferID, version: SourceVersion) {
            self.id = id
            self.version = version
        }
    }

    package enum Standing: Hashable, Sendable {
        /// The file is complete then, unless it changes.
        case settling(until: Instant)
        /// No program writes to it, and it has not changed for the time to settle.
        case complete
        /// The file is at the server.
        case sent
        /// Something is wrong with it; when it is looked at again.
        case refused(LonghaulError, until: Instant)
    }

    package var version: SourceVersion
    package var standing: Standing
    package var sending: Sending?

    package init(version: SourceVersion, standing: Standing, sending: Sending? = nil) {
        self.version = version
        self.standing = standing
        self.sending = sending
    }

    /// The file as a look has found it: one that has changed settles again.
    package mutating func found(_ version: SourceVersion, settlesAt: Instant) {
        if version.isSame(as: self.version), version.inode == self.version.inode {
            // Each mount may give the file system another number.
            self.version.device = version.device
            return
        }
        self.version = version
        standing = .settling(until: settlesAt)
    }

    /// Its transfer has ended. What was sent is at the server; what has failed is not sent again
    /// before it changes.
    package mutating func ended(_ state: TransferState, _ error: LonghaulError.Code?) {
        guard let sending else { return }
        if state == .completed {
            if sending.version.isSame(as: version) { standing = .sent }
            self.sending = nil
        } else {
            self.sending?.isLive = false
            self.sending?.missedFile = error == .sourceChanged
        }
    }

    /// The last transfer was of another version, or of none: it is replaced by the next one.
    package var outdated: TransferID? {
        sending.flatMap { $0.version.isSame(as: version) ? nil : $0.id }
    }

    /// The transfer that has failed, or was cancelled, was of this version.
    fileprivate var isGivenUp: Bool {
        guard let sending, !sending.isLive, !sending.missedFile else { return false }
        return sending.version.isSame(as: version)
    }
}

/// The steps to take now for the files of a watched folder.
package struct FolderPlan: Hashable, Sendable {
    /// Their time to settle is over: whether a program writes to them has to be found out.
    package var look: [String] = []
    /// They get transfers.
    package var send: [String] = []
    /// They are at the server, and are kept, moved or deleted.
    package var finish: [String] = []
    /// Files without a transfer.
    package var pending = 0
    /// Files that cannot be sent, moved or deleted, and why, of the first by name.
    package var refused = 0
    package var refusal: LonghaulError?
    /// When something may be to be done, even if nothing happens.
    package var next: Instant?

    package init() {}

    /// - Parameters:
    ///   - room: Transfers that may be recorded now.
    ///   - limit: Files that one plan has at most of each kind.
    package static func decide(
        _ files: [String: FolderFile], room: Int, limit: Int, now: Instant
    ) -> FolderPlan {
        var plan = FolderPlan()
        var firstRefused: String?
        for (path, file) in files {
            if file.sending?.isLive == true || file.isGivenUp { continue }
            switch file.standing {
            case .settling(let moment):
                plan.pending += 1
                plan.expect(path, at: moment, now: now)
            case .complete:
                plan.pending += 1
                plan.send.append(path)
            case .sent: plan.finish.append(path)
            case .refused(let error, let moment):
                plan.refused += 1
                if firstRefused.map({ path < $0 }) ?? true {
                    (firstRefused, plan.refusal) = (path, error)
                }
                plan.expect(path, at: moment, now: now)
            }
        }
        // Many files are done with in several steps. Those that wait for room wait for the end of a
        // transfer.
        let isMore =
            plan.look.count > limit || plan.finish.count > limit
            || min(plan.send.count, room) > limit
        if isMore { plan.next = now }
        plan.look = plan.look.some(limit)
        plan.finish = plan.finish.some(limit)
        plan.send = plan.send.some(min(limit, max(0, room)))
        return plan
    }

    private mutating func expect(_ path: String, at moment: Instant, now: Instant) {
        if moment <= now {
            look.append(path)
        } else {
            next = next.map { min($0, moment) } ?? moment
        }
    }
}

extension [String] {
    /// Some of them, by name. Sorting all takes too long if they are many.
    fileprivate func some(_ limit: Int) -> [String] { prefix(limit).sorted() }
}
