internal import LonghaulCore

struct WaitingRequest {
    var request: SegmentRequest
    var stopAt: Int64?
}

/// What waits for and runs against one origin.
final class OriginLine {
    let name: Substring
    var active = 0
    /// Of those, the ones with a connection to themselves.
    var activeAlone = 0
    /// Learned from an answer: its requests share a connection.
    var speaksHTTP2 = false
    private var waiting: [WaitingRequest] = []
    private var first = 0

    init(name: Substring) {
        self.name = name
    }

    var isWaiting: Bool { first < waiting.count }

    /// Whether the request whose turn it is wants a connection to itself.
    var nextIsAlone: Bool { isWaiting && waiting[first].request.connection.ownConnection }

    func append(_ request: SegmentRequest) {
        waiting.append(WaitingRequest(request: request))
    }

    func shrink(_ key: SegmentKey, _ end: Int64) {
        for index in waiting.indices.dropFirst(first) where waiting[index].request.key == key {
            waiting[index].stopAt = min(end, waiting[index].stopAt ?? end)
        }
    }

    func next() -> WaitingRequest {
        let request = waiting[first]
        first += 1
        if first == waiting.count || first >= 4096 {
            waiting.removeFirst(first)
            first = 0
        }
        return request
    }

    func remove(where isRemoved: (SegmentRequest) -> Bool) {
        waiting.removeFirst(first)
        first = 0
        waiting.removeAll { isRemoved($0.request) }
    }
}

/// Requests that wait for their origin's connections, or for the transport's. The multi handle
/// never sees them: its cost grows with every handle in it, and a request waiting inside would use
/// up its connect timeout there.
struct OriginQueue {
    var configuration: TransportConfiguration
    private var lines: [Substring: OriginLine] = [:]
    /// Lines with waiting requests, served in turn.
    private var order: [OriginLine] = []
    private var active = 0

    init(configuration: TransportConfiguration) {
        self.configuration = configuration
    }

    var isEmpty: Bool { order.isEmpty }

    mutating func append(_ request: SegmentRequest) {
        let name = RequestURL.prefix(of: request.url)
        let line = lines[name] ?? add(name)
        if !line.isWaiting { order.append(line) }
        line.append(request)
    }

    private mutating func add(_ name: Substring) -> OriginLine {
        let line = OriginLine(name: name)
        lines[name] = line
        return line
    }

    /// The next request that may go out, counted as active from here to ``release(_:)``.
    mutating func next() -> (WaitingRequest, OriginLine)? {
        guard active < configuration.maxActiveRequests else { return nil }
        guard let index = order.firstIndex(where: hasRoom) else { return nil }
        let line = order.remove(at: index)
        let waiting = line.next()
        if line.isWaiting { order.append(line) }
        line.active += 1
        if waiting.request.connection.ownConnection { line.activeAlone += 1 }
        active += 1
        return (waiting, line)
    }

    mutating func release(_ request: SegmentRequest, _ line: OriginLine) {
        line.active -= 1
        if request.connection.ownConnection { line.activeAlone -= 1 }
        active -= 1
        if line.active == 0, !line.isWaiting { lines[line.name] = nil }
    }

    func shrink(_ key: SegmentKey, _ end: Int64) {
        for line in order { line.shrink(key, end) }
    }

    /// Takes back requests that have not gone out.
    mutating func remove(_ keys: Set<SegmentKey>) -> [SegmentKey] {
        var removed: [SegmentKey] = []
        for line in order {
            line.remove { request in
                guard keys.contains(request.key) else { return false }
                removed.append(request.key)
                return true
            }
            if line.active == 0, !line.isWaiting { lines[line.name] = nil }
        }
        order.removeAll { !$0.isWaiting }
        return removed
    }

    /// Takes back all of them.
    mutating func removeAll() -> [SegmentKey] {
        var removed: [SegmentKey] = []
        for line in order {
            while line.isWaiting { removed.append(line.next().request.key) }
            if line.active == 0 { lines[line.name] = nil }
        }
        order = []
        return removed
    }

    private func hasRoom(_ line: OriginLine) -> Bool {
        guard line.speaksHTTP2 else { return line.active < configuration.maxConnectionsPerHost }
        guard line.nextIsAlone else { return line.active < configuration.maxConcurrentStreams }
        let shared = line.active > line.activeAlone ? 1 : 0
        return line.activeAlone + shared < configuration.maxConnectionsPerHost
    }
}
