internal import LonghaulModel

/// A request that is there already: the same URL to the same destination, in the same session, by a
/// transfer that has not completed. An interrupted or repeated command line means that transfer,
/// and so does a line that stands twice in a list.
extension TransferInserter {
    /// Finds the transfer that a request repeats, and has it continue: a failed one is tried again,
    /// a paused one stays paused. `nil` = the request is a new one.
    ///
    /// - Parameter holder: The transfer that has reserved the destination.
    func repeated(
        _ new: NewTransfer, holder: TransferID?
    ) throws -> (id: TransferID, destination: String)? {
        // Under a new gid a client asks for another transfer.
        if new.request.options.onDuplicate != .join || new.request.options.gid != nil {
            return nil
        }
        guard let work = try earlier(new, holder) else { return nil }
        let isFailed = work.phase == .failed && !work.isRearmPending
        var changed = work
        changed.request = work.request.restated(by: new.request)
        // The old digest would fail again: the same request without a digest drops it.
        if isFailed, work.error?.code == .checksumMismatch, new.request.options.checksum == nil,
            new.request.options.upload == nil
        {
            changed.request.options.checksum = nil
        }
        // The old deadline is over, so the transfer would fail at once.
        if isFailed, try TransferRows(connection).hasFixedDeadline(work.id, before: now) {
            changed.request.deadline = new.request.deadline
        }
        if work.request.options.spread > 0 {
            try spread(work.id).apply(
                to: &changed.request, insteadOf: work.request, saysBegin: false, now: now)
        }
        var change = RequestChange()
        if changed.request.deadline != work.request.deadline {
            change.deadline = changed.request.deadline
            try changed.request.deadline.check(earliest: changed.request.earliestBegin)
        }
        if isFailed, try changed.mayHaveArrived(connection) {
            throw LonghaulError.answerLost(work.id)
        }
        if let review, !changed.request.isExactly(work.request) {
            try review.allow(
                ReviewedChange(
                    before: work.request, after: changed.request, given: new.request))
        }
        if changed.request.options.after != work.request.options.after {
            _ = try awaited(by: changed.request.options)
        }
        // The session may be given a host, as with a new transfer. Refusals come before any write.
        if new.request.host != nil { _ = try sessionRow(new.request) }
        if !changed.request.isExactly(work.request) {
            try RequestRows(connection).save(changed, insteadOf: work, change, now: now)
            try IntentRows(connection).add(work.id)
        }
        if isFailed {
            try TransferRows(connection).rearm(work.id, wanting: .run)
            try IntentRows(connection).add(work.id)
        }
        return (work.id, work.path)
    }

    /// A transfer that is about to be cancelled asked for the same: the new one may have its
    /// destination.
    func makesRoom(_ holder: TransferID, for new: NewTransfer) throws -> Bool {
        guard holder.rawValue < firstID, let work = try work(holder) else { return false }
        return work.want.isCancel && isSame(new.request, work)
    }

    private func earlier(_ new: NewTransfer, _ holder: TransferID?) throws -> TransferWork? {
        if let holder {
            if buffer.holds(new.reservation) { try buffer.flush(connection) }
            guard let work = try work(holder), !work.want.isCancel else { return nil }
            return isSame(new.request, work) ? work : nil
        }
        if review?.takesUpFailed == false { return nil }
        for id in try failed(at: new.reservation) {
            if let work = try work(id), isSame(new.request, work) { return work }
        }
        return nil
    }

    /// Failed transfers of the same file whose bytes the new one inherits; they stay failed.
    func predecessors(of new: NewTransfer) throws -> [TransferID] {
        if new.isUpload { return [] }
        let identity = FetchIdentity(new.request)
        return try failed(at: new.reservation).filter { id in
            guard let work = try work(id), !work.isUnreadable, !work.isRearmPending else {
                return false
            }
            return FetchIdentity(work.request) == identity
        }
    }

    private func isSame(_ request: TransferRequest, _ work: TransferWork) -> Bool {
        guard !work.isUnreadable, request.session.isExactly(work.request.session) else {
            return false
        }
        if request.url.isExactly(work.request.url) { return true }
        guard let url = CanonicalURL.of(request.url), let other = CanonicalURL.of(work.request.url)
        else { return false }
        let user = (try? URLParts(request.url))?.userInfo
        return url.isExactly(other)
            && user.isExactly((try? URLParts(work.request.url))?.userInfo)
    }

    private func work(_ id: TransferID) throws -> TransferWork? {
        try WorkRecord.find(id, connection)
    }
}

extension Want {
    var isCancel: Bool {
        switch self {
        case .cancel, .cancelKeepingBytes: true
        case .run, .pause: false
        }
    }
}

extension TransferRequest {
    /// The request, changed as `set` would by all values of `new` that differ from the default.
    /// Fields that `new` leaves at their default stay, and so does the earliest moment: `+2h` of a
    /// command that is repeated every hour would never come.
    func restated(by new: TransferRequest) -> TransferRequest {
        var request = self
        RequestField.restate(&request, by: new)
        // S3 keys are updated to the current ones, with the token of temporary keys.
        if let found = new.options.s3 {
            request.options.user = new.options.user
            request.options.headers[S3Keys.tokenField] = new.options.headers[S3Keys.tokenField]
            let chosen = request.options.s3?.keysChosenAt
            request.options.s3 = found
            request.options.s3?.keysChosenAt = chosen
        }
        return request
    }
}
