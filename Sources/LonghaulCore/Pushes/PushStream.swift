package import LonghaulModel

/// A connection that has lived so long was no failure, also if nothing happened meanwhile.
private let pushLifeSeconds: Double = 60

/// A stream of pushes, from its request to its events: pure.
package struct PushStream: Sendable {
    private enum Parser: Sendable {
        case events(EventStreamParser)
        case topics(TopicParser)
    }

    private var parser: Parser
    private let resumedFrom: String?
    private var hasMoved = false
    private var hasEvents = false
    private let openedAt: Timestamp

    /// - Parameter head: The head of its answer; `nil` = the answer is no stream.
    package init?(_ head: ResponseHead, of subscription: PushSubscription) {
        guard let parser = Self.parser(head) else { return nil }
        self.parser = parser
        resumedFrom = subscription.lastID
        openedAt = head.receivedAt
    }

    /// The stream has brought an event, or has lived for a while.
    fileprivate func hasGained(at now: Timestamp) -> Bool {
        hasEvents || now - openedAt >= pushLifeSeconds
    }

    /// The events of the next bytes. A server may repeat the one that it was asked to go on after.
    package mutating func receive(_ bytes: [UInt8]) -> [PushEvent] {
        let events: [PushEvent]
        switch parser {
        case .events(var known):
            events = known.receive(bytes)
            parser = .events(known)
        case .topics(var known):
            events = known.receive(bytes)
            parser = .topics(known)
        }
        hasEvents = hasEvents || !events.isEmpty
        return events.filter { event in
            guard !hasMoved, let id = event.id else { return true }
            if id == resumedFrom { return false }
            hasMoved = true
            return true
        }
    }

    /// Where the next connection goes on; `nil` = the stream has told no place.
    package var lastID: String? {
        switch parser {
        case .events(let parser): parser.lastID
        case .topics(let parser): parser.lastID
        }
    }

    /// Seconds that the server asks to wait before the next connection.
    package var retrySeconds: Double? {
        if case .events(let parser) = parser { parser.retrySeconds } else { nil }
    }

    // MARK: - The request

    /// ntfy has the place in the query, all others in a header field.
    package static func request(
        of subscription: PushSubscription
    ) -> (url: String, headers: HeaderFields) {
        var headers = HeaderFields()
        headers["Cache-Control"] = "no-cache"
        let isTopic = isTopic(subscription.url)
        headers["Accept"] = isTopic ? "application/x-ndjson" : "text/event-stream"
        guard let lastID = subscription.lastID else { return (subscription.url, headers) }
        if isTopic { return (since(lastID, in: subscription.url), headers) }
        if lastID.utf8.allSatisfy({ $0 != 0 && $0 != 0x0A && $0 != 0x0D }) {
            headers["Last-Event-ID"] = lastID
        }
        return (subscription.url, headers)
    }

    private static func isTopic(_ url: String) -> Bool {
        (try? URLParts(url))?.path.hasSuffix("/json") ?? false
    }

    private static func since(_ id: String, in url: String) -> String {
        let whole = url.prefix { $0 != "#" }
        let parts = whole.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let query = parts.count > 1 ? parts[1] : ""
        let others = query.split(separator: "&").filter { !$0.hasPrefix("since=") }.map(String.init)
        let since = "since=" + PercentEncoding.encode(id.utf8)
        return parts[0] + "?" + (others + [since]).joined(separator: "&")
    }

    // MARK: - The answer

    private static func parser(_ head: ResponseHead) -> Parser? {
        guard head.scheme == .http, head.status == 200 else { return nil }
        let type = mediaType(head)
        if type == "text/event-stream" { return .events(EventStreamParser()) }
        let isTopic = type == "application/x-ndjson" || isTopic(head.effectiveURL)
        return isTopic ? .topics(TopicParser()) : nil
    }

    private static func mediaType(_ head: ResponseHead) -> String {
        let type = head.headers["Content-Type"] ?? ""
        return type.prefix { $0 != ";" }.trimmingBlanks.lowercased()
    }

    package static func verdict(_ head: ResponseHead) -> HeadVerdict {
        if [301, 302, 303, 307, 308].contains(head.status) { return .redirect }
        return parser(head) == nil ? .refuse : .accept(BodyPlan(position: 0))
    }

    /// Why the answer is no stream.
    package static func failure(_ head: ResponseHead) -> Failure {
        if head.status >= 400 {
            return FailureTable.classify(
                status: head.status, retryAfter: head.headers.retryAfter(now: head.receivedAt))
        }
        let type = mediaType(head)
        let what = head.status == 204 ? "that there are no more events" : "no stream of events"
        let named = type.isEmpty ? "" : " but \(TerminalText.shown(type))"
        return Failure(
            .permanent,
            LonghaulError(
                .serverError,
                "the server answered \(what)\(named); a stream is text/event-stream, or ntfy's"
                    + " lines at a URL that ends with /json"))
    }
}

/// Which connections to streams are opened and closed now: pure.
package struct PushPlan: Sendable {
    package private(set) var opens: [PushSubscription] = []
    package private(set) var closes: Set<PushSubscription.ID> = []
    /// When to decide again; `nil` = when something has changed.
    package private(set) var next: Timestamp?

    /// - Parameter open: Connections that are open or being made.
    package static func decide(
        _ wanted: [PushSubscription], open: Set<PushSubscription.ID>, isOffline: Bool,
        now: Timestamp
    ) -> PushPlan {
        var plan = PushPlan()
        plan.closes = isOffline ? open : open.subtracting(wanted.map(\.id))
        if isOffline { return plan }
        for subscription in wanted where !open.contains(subscription.id) {
            // A moment that no back-off leads to comes from a clock that was wrong.
            if let at = subscription.retryAt, at > now,
                at <= now + Limits.retryAfterMaximumSeconds
            {
                plan.next = min(plan.next ?? at, at)
            } else {
                plan.opens.append(subscription)
            }
        }
        return plan
    }

    /// The wait after the end of a connection.
    ///
    /// - Parameters:
    ///   - failure: `nil` = the server has ended it in order.
    ///   - stream: `nil` = there was none.
    package static func afterEnd(
        _ failure: Failure?, of stream: PushStream?, failures: Int, now: Timestamp,
        using random: inout some RandomNumberGenerator
    ) -> (failures: Int, retryAt: Timestamp, error: LonghaulError?) {
        let asked = now + (stream?.retrySeconds ?? 0)
        if stream?.hasGained(at: now) ?? false {
            let wait = BackOff.seconds(afterFailures: 1, using: &random)
            return (0, max(asked, now + wait), nil)
        }
        let failure =
            failure
            ?? Failure(
                .transient, LonghaulError(.serverError, "the server has ended the stream at once"))
        let attempts = RetryPolicy.Attempts(fruitless: failures, hasGained: false, retries: nil)
        if case .retry(let at, _, let error) = RetryPolicy.decide(
            failure, attempts: attempts, now: now, deadline: nil, using: &random)
        {
            return (failures + 1, max(asked, at), error)
        }
        // Nothing but a change elsewhere mends it.
        return (failures + 1, now + Limits.pushRefusedSeconds, failure.error)
    }
}
