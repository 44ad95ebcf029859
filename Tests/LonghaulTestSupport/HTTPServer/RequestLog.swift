import Synchronization

/// One request as the server received it, and the outcome of its answer.
package struct LoggedRequest: Sendable {
    package enum Outcome: String, Sendable {
        /// All bytes of the answer were handed to the kernel.
        case sent
        /// The server closed the connection early, as the knobs asked.
        case cut
        /// The peer, or the end of the server, closed the connection first.
        case lost
    }

    /// From 0, in the order of arrival.
    package let number: Int
    /// From 0, in the order in which connections were accepted.
    package let connection: Int
    package let head: RequestHead
    package let startedAt: ContinuousClock.Instant
    package var status: Int
    /// Body bytes handed to the kernel so far, without chunk framing. The client may hold fewer.
    package var bodyBytesSent = 0
    package var endedAt: ContinuousClock.Instant?
    /// Nil while the answer is being sent; a stalled one is until its connection closes.
    package var outcome: Outcome?
    package var badKnob: BadKnob?

    package var method: String { head.method }
    package var target: String { head.target }

    /// The value of the first field with this name, whatever its case.
    package subscript(_ name: String) -> String? { head[name] }
}

/// Every request that reached the server, in order of arrival. Thread-safe; a test may read it
/// while transfers run.
package final class RequestLog: Sendable {
    private let entries = Mutex<[LoggedRequest]>([])
    private let onFinish: (@Sendable (LoggedRequest) -> Void)?

    init(onFinish: (@Sendable (LoggedRequest) -> Void)?) {
        self.onFinish = onFinish
    }

    package var all: [LoggedRequest] { entries.withLock { $0 } }

    package var count: Int { entries.withLock { $0.count } }

    /// The requests for one file. `file` is a name (`a.bin`, whatever the knobs), a request target
    /// or a URL (knobs included).
    package func requests(for file: String) -> [LoggedRequest] {
        all.filter { entry in
            entry.head.pathAndQuery.path == "/f/" + file || entry.target == file
                || (file.contains("://") && file.hasSuffix(entry.target))
        }
    }

    /// Requests with invalid knobs: an error of the test itself.
    package var badKnobs: [BadKnob] { all.compactMap(\.badKnob) }

    /// Body bytes handed to the kernel for one file, or for all.
    package func bodyBytesSent(for file: String? = nil) -> Int {
        (file.map(requests(for:)) ?? all).reduce(0) { $0 + $1.bodyBytesSent }
    }

    /// The number of connections that carried at least one request.
    package var connections: Int { Set(all.map(\.connection)).count }

    /// Waits until at least `count` requests have arrived (for `file`, if given).
    ///
    /// - Returns: those requests.
    /// - Throws: `TimedOut` with the number seen instead.
    @discardableResult
    package func waitForCount(
        _ count: Int, for file: String? = nil, within limit: Duration = Patience.usual
    ) async throws -> [LoggedRequest] {
        let look = { @Sendable in file.map(self.requests(for:)) ?? self.all }
        try await eventually(within: limit, "\(count) requests, got \(look().count)") {
            look().count >= count
        }
        return look()
    }

    /// Waits until at least `count` requests have ended (for `file`, if given).
    @discardableResult
    package func waitForFinished(
        _ count: Int, for file: String? = nil, within limit: Duration = Patience.usual
    ) async throws -> [LoggedRequest] {
        let look = { @Sendable in
            (file.map(self.requests(for:)) ?? self.all).filter { $0.outcome != nil }
        }
        try await eventually(within: limit, "\(count) ended requests, got \(look().count)") {
            look().count >= count
        }
        return look()
    }

    /// Waits until this many body bytes have been handed to the kernel (for `file`, if given).
    package func waitForBytes(
        _ count: Int, for file: String? = nil, within limit: Duration = Patience.usual
    ) async throws {
        try await eventually(
            within: limit, "\(count) body bytes, got \(self.bodyBytesSent(for: file))"
        ) {
            self.bodyBytesSent(for: file) >= count
        }
    }

    /// Clears the log. Requests that are not answered yet are removed too.
    package func reset() { entries.withLock { $0.removeAll() } }

    // MARK: - For the server

    func begin(connection: Int, head: RequestHead, plan: ResponsePlan) -> LoggedRequest {
        entries.withLock { entries in
            var entry = LoggedRequest(
                number: nextNumber(entries), connection: connection, head: head,
                startedAt: .now, status: plan.status)
            entry.badKnob = plan.badKnob
            entries.append(entry)
            return entry
        }
    }

    func sent(_ count: Int, of number: Int) {
        change(number) { $0.bodyBytesSent += count }
    }

    func end(_ number: Int, _ outcome: LoggedRequest.Outcome) {
        let ended = change(number) { entry in
            guard entry.outcome == nil else { return }
            entry.outcome = outcome
            entry.endedAt = .now
        }
        if let ended { onFinish?(ended) }
    }

    private func nextNumber(_ entries: [LoggedRequest]) -> Int {
        entries.last.map { $0.number + 1 } ?? 0
    }

    @discardableResult
    private func change(_ number: Int, _ body: (inout LoggedRequest) -> Void) -> LoggedRequest? {
        entries.withLock { entries in
            // Numbers are consecutive, but `reset` may have removed the first ones.
            guard let first = entries.first?.number, number >= first,
                number - first < entries.count
            else { return nil }
            body(&entries[number - first])
            return entries[number - first]
        }
    }
}
