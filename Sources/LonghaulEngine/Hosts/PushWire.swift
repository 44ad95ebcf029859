package import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulTransport

/// The connections to streams, on libcurl as all others. Used by one thread; facts come from the
/// transport's.
package final class PushWire {
    package enum Report: Sendable {
        case opened(PushSubscription.ID)
        case events([PushEvent], PushSubscription.ID, lastID: String?)
        /// The connection is gone; `failure`: `nil` = the server has ended it in order.
        case ended(PushSubscription.ID, Failure?, PushStream?)
    }

    private struct Connection {
        let subscription: PushSubscription
        let buffer: StreamBuffer
        var stream: PushStream?
        /// The answer is no stream.
        var refusal: Failure?
        var position: Int64 = 0
    }

    private let facts: @Sendable ([WireFact]) -> Void
    private let silenceSeconds: Double
    private var transport: Transport?
    private var connections: [SegmentKey: Connection] = [:]
    /// The descriptor of a request stays open until it has ended.
    private var closing: [SegmentKey: StreamBuffer] = [:]
    private var lastSerial: Int64 = 0

    /// - Parameters:
    ///   - silenceSeconds: A stream that sends nothing for this long is ended as stalled.
    ///   - facts: Called on the transport's thread, to be handed to ``reports(of:)``.
    package init(silenceSeconds: Double, facts: @escaping @Sendable ([WireFact]) -> Void) {
        self.silenceSeconds = silenceSeconds
        self.facts = facts
    }

    /// Connections that are open or being made.
    package var open: Set<PushSubscription.ID> {
        Set(connections.values.map(\.subscription.id))
    }

    /// Opens a connection. Otherwise the reason is the failure of the attempt.
    package func connect(_ subscription: PushSubscription) -> Failure? {
        do throws(LonghaulError) {
            let transport = try opened()
            lastSerial += 1
            let key = SegmentKey(fetch: FetchID(rawValue: subscription.id), serial: lastSerial)
            let buffer = try madeBuffer()
            transport.start([request(subscription, key, buffer)])
            connections[key] = Connection(subscription: subscription, buffer: buffer)
            return nil
        } catch {
            return Failure(.transient, error)
        }
    }

    private func opened() throws(LonghaulError) -> Transport {
        if let transport { return transport }
        let new = try Transport(facts: facts)
        transport = new
        return new
    }

    private func madeBuffer() throws(LonghaulError) -> StreamBuffer {
        do throws(SystemFailure) {
            return try StreamBuffer()
        } catch {
            throw error.longhaulError()
        }
    }

    private func request(
        _ subscription: PushSubscription, _ key: SegmentKey, _ buffer: StreamBuffer
    ) -> SegmentRequest {
        let (url, headers) = PushStream.request(of: subscription)
        var settings = ConnectionSettings()
        settings.stallTimeout = silenceSeconds
        settings.expectsSilence = true
        settings.ownConnection = true
        var request = SegmentRequest(
            key: key, url: url, headers: headers, connection: settings,
            target: SegmentTarget(descriptor: buffer.descriptor, cell: 0), noticeEvery: 1,
            judge: { PushStream.verdict($0) })
        if let path = subscription.headersFrom {
            request.secrets = {
                Result { () throws(SecretFileProblem) in
                    try SecretFiles(headers: path).secrets()
                }.mapError { .secretFile($0) }
            }
        }
        return request
    }

    /// Closes connections; nothing is reported of them any more.
    package func close(_ ids: Set<PushSubscription.ID>) {
        let keys = connections.filter { ids.contains($0.value.subscription.id) }.map(\.key)
        transport?.stop(keys)
        for key in keys { closing[key] = connections.removeValue(forKey: key)?.buffer }
    }

    /// The network has changed: a connection that is silent for three seconds ends. The next one
    /// resumes after its last event.
    package func networkHasChanged() {
        transport?.leaveConnections(suspecting: Array(connections.keys))
    }

    /// The meaning of facts, in order.
    package func reports(of facts: [WireFact]) -> [Report] {
        facts.flatMap { fact -> [Report] in
            switch fact {
            case .head(let key, let head, let verdict): return answered(key, head, verdict)
            case .progress(let key): return received(key)
            case .ended(let key, let end): return received(key) + ended(key, end)
            case .interim: return []
            }
        }
    }

    private func answered(
        _ key: SegmentKey, _ head: ResponseHead, _ verdict: HeadVerdict
    ) -> [Report] {
        guard let subscription = connections[key]?.subscription else { return [] }
        guard case .accept = verdict, let stream = PushStream(head, of: subscription) else {
            if case .refuse = verdict { connections[key]?.refusal = PushStream.failure(head) }
            return []
        }
        connections[key]?.stream = stream
        return [.opened(subscription.id)]
    }

    private func received(_ key: SegmentKey) -> [Report] {
        guard var connection = connections[key], var stream = connection.stream,
            let bytes = try? connection.buffer.read(from: connection.position), !bytes.isEmpty
        else { return [] }
        connection.position += Int64(bytes.count)
        let before = stream.lastID
        let events = stream.receive(bytes)
        connection.stream = stream
        connections[key] = connection
        if events.isEmpty, stream.lastID == before { return [] }
        return [.events(events, connection.subscription.id, lastID: stream.lastID)]
    }

    private func ended(_ key: SegmentKey, _ end: SegmentEnd) -> [Report] {
        closing[key] = nil
        guard let connection = connections.removeValue(forKey: key) else { return [] }
        let failure = connection.refusal ?? end.failure.flatMap { FailureTable.classify($0) }
        return [.ended(connection.subscription.id, failure, connection.stream)]
    }

    package func shutdown() { transport?.shutdown() }
}
