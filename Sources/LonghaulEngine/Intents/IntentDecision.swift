internal import LonghaulCore
internal import LonghaulStore

/// The meaning of a changed intent of a transfer. Pure: ``IntentApplier`` loads and writes.
enum IntentDecision: Hashable {
    case nothing
    /// The transfer is ready now; an earliest moment still holds. With `hastens`, its server is
    /// asked despite earlier failures.
    case queue(hastens: Bool)
    /// The transfer ends. `dropsBytes`: its bytes go to an equal transfer, or are deleted.
    case cancel(dropsBytes: Bool)
    case fail
    /// The transfer is queued again. `isSuperseded`: a later intent is applied next.
    case rearm(isSuperseded: Bool)
    case dropBytes
    /// The fetch continues with the changed settings.
    case adopt
    /// The fetch, which serves this transfer alone, leaves the wire.
    case leave(FetchDeparture)
    /// The transfer shares its fetch with others.
    case share(SharedChange)

    /// - Parameter fetch: The one in memory that serves it; `nil` = it does not run.
    static func decide(_ work: TransferWork, in fetch: SharedFetch?) -> IntentDecision {
        guard let fetch else { return decideIdle(work) }
        if fetch.subscribers.isShared, fetch.subscribers[work.id] != nil {
            return SharedChange.decide(work, in: fetch).map(IntentDecision.share) ?? .nothing
        }
        let leader = fetch.subscribers.leader
        // The same request with another eligibility: changed and changed back, it has its
        // preferences again.
        let isOther =
            !work.request.isExactly(leader.request) || work.eligibility != leader.eligibility
            || work.readFrom != leader.readFrom
        if work.want == .run, isOther, work.request.canContinue(as: leader.request, fetch) {
            return .adopt
        }
        return departure(for: work, fetch).map(IntentDecision.leave) ?? .nothing
    }

    /// The decision for a transfer whose deadline has passed.
    static func decideExpired(_ work: TransferWork, in fetch: SharedFetch?) -> IntentDecision {
        guard let fetch else { return .fail }
        guard fetch.subscribers.isShared, fetch.subscribers[work.id] != nil else {
            return .leave(.expire)
        }
        return SharedChange.leaving(work, fetch, .expired).map(IntentDecision.share) ?? .nothing
    }

    private static func decideIdle(_ work: TransferWork) -> IntentDecision {
        switch (work.phase, work.want) {
        case (.queued, .run), (.running, .run):
            .queue(hastens: !work.eligibility.waitsForTransfers)
        case (.queued, .pause), (.running, .pause): .queue(hastens: false)
        case (.queued, .cancel), (.running, .cancel): .cancel(dropsBytes: true)
        case (.queued, .cancelKeepingBytes), (.running, .cancelKeepingBytes):
            .cancel(dropsBytes: false)
        case (.failed, let want), (.cancelled, let want):
            if work.isRearmPending {
                .rearm(isSuperseded: want != .run)
            } else {
                want == .cancel && work.fetchID != nil ? .dropBytes : .nothing
            }
        case (.completed, _): .nothing
        }
    }

    private static func departure(
        for work: TransferWork, _ fetch: SharedFetch
    ) -> FetchDeparture? {
        switch work.want {
        case .cancel: .cancel(keepingBytes: false)
        case .cancelKeepingBytes: .cancel(keepingBytes: true)
        // The cancel was withdrawn in time.
        case .run where fetch.isBeingCancelled, .pause where fetch.isBeingCancelled: .renew
        case .pause: .requeue
        // Other settings than those it runs with: it leaves the wire and starts again.
        case .run: work.request.isExactly(fetch.subscribers.leader.request) ? nil : .renew
        }
    }
}

extension TransferRequest {
    /// Tells whether a running fetch may adopt these settings: they and `other` request the same
    /// bytes in the same way. The new eligibility decides whether the fetch may run now.
    fileprivate func canContinue(as other: TransferRequest, _ fetch: SharedFetch) -> Bool {
        var old = other
        for field in RequestField.adopted where !field.isSame(self, old) {
            field.copy(self, &old)
        }
        // Running requests were made under the old bound, which decides while the length is
        // unknown.
        if let total = fetch.totals.bytesTotal, total <= options.maxSize ?? .max {
            old.options.maxSize = options.maxSize
        }
        // A file that is being given its name gets that one.
        if !fetch.isEnding {
            old.destination = destination
            old.options.remoteName = options.remoteName
        }
        if fetch.url == url { old.options.mirrors = options.mirrors }
        return isExactly(old)
    }
}
