internal import LonghaulCore

struct WaitingRequest {
    var request: SegmentRequest
    var stopAt: Int64?
    /// It has been handed to libcurl, which had no connection for it, and goes on as it was.
    var exchange: EasyHandle?
    /// It gets a connection to itself, and is counted so: set when it goes out.
    var isAlone = false
    /// Because its body may be slowed down; the same.
    var isSlowed = false
}

/// What waits for and runs against one origin.
final class HostQueue {
    let name: Substring
    var active = 0
    /// Of those, the ones with a connection to themselves.
    var activeAlone = 0
    /// Learned from an answer: its requests share a connection.
    var speaksHTTP2 = false
    /// Learned from none.
    var lacksHTTP1 = false
    /// When a connection to share was begun because older ones were not trusted, in monotonic
    /// nanoseconds.
    var renewedAt: Int64?
    /// libcurl had no connection for the request whose turn it is, and hardly has one yet.
    var isResting = false
    private var waiting: [WaitingRequest] = []
    private var first = 0

    init(name: Substring) {
        self.name = name
    }

    var isWaiting: Bool { first < waiting.count }

    /// The request whose turn it is.
    var upcoming: SegmentRequest? { isWaiting ? waiting[first].request : nil }

    func append(_ request: SegmentRequest) {
        waiting.append(WaitingRequest(request: request))
    }

    /// Before all others.
    func putBack(_ request: WaitingRequest) {
        if first > 0 {
            first -= 1
            waiting[first] = request
        } else {
            waiting.insert(request, at: 0)
        }
    }

    func change(_ key: SegmentKey, _ change: (inout WaitingRequest) -> Void) {
        for index in waiting.indices.dropFirst(first) where waiting[index].request.key == key {
            change(&waiting[index])
        }
    }

    func next() -> WaitingRequest {
        let request = waiting[first]
        waiting[first].exchange = nil
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
        if waiting.isEmpty { isResting = false }
    }
}

/// Requests that wait for their origin's connections, or for the transport's. The multi handle
/// never sees them: its cost grows with every handle in it, and a request waiting inside would use
/// up its connect timeout there. What a request is really connected to (a redirect's target, a
/// connection with room for few streams) is known to libcurl alone, though: one that it has no
/// connection for comes back here.
struct OriginQueue {
    var configuration: TransportConfiguration
    /// A rate is set for all together.
    var slowsAll = false
    private var lines: [Substring: HostQueue] = [:]
    /// Lines with waiting requests, served in turn.
    private var order: [HostQueue] = []
    private var active = 0
    /// Monotonic nanoseconds.
    private(set) var restsEndAt = Int64.max

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

    private mutating func add(_ name: Substring) -> HostQueue {
        let line = HostQueue(name: name)
        lines[name] = line
        return line
    }

    /// The next request that may go out, counted as active from here to ``release(_:)``.
    mutating func next() -> (WaitingRequest, HostQueue)? {
        guard active < configuration.maxActiveRequests else { return nil }
        guard let index = order.firstIndex(where: hasRoom) else { return nil }
        let line = order.remove(at: index)
        var waiting = line.next()
        waiting.isSlowed = isSlowed(waiting.request)
        waiting.isAlone = isAlone(waiting.request)
        if line.isWaiting { order.append(line) }
        line.active += 1
        if waiting.isAlone { line.activeAlone += 1 }
        active += 1
        return (waiting, line)
    }

    private func isAlone(_ request: SegmentRequest) -> Bool {
        request.connection.ownConnection || isSlowed(request)
    }

    private func isSlowed(_ request: SegmentRequest) -> Bool {
        slowsAll || request.yields || request.limitRate != nil
    }

    /// - Parameter isAlone: as it was when it went out.
    mutating func release(_ line: HostQueue, isAlone: Bool) {
        leave(line, isAlone: isAlone)
        if line.active == 0, !line.isWaiting { lines[line.name] = nil }
        endRests()
    }

    private mutating func leave(_ line: HostQueue, isAlone: Bool) {
        line.active -= 1
        if isAlone { line.activeAlone -= 1 }
        active -= 1
    }

    /// Takes back one that libcurl had no connection for. Its line rests until any request ends,
    /// at the longest until this moment.
    mutating func putBack(_ waiting: WaitingRequest, _ line: HostQueue, until moment: Int64) {
        leave(line, isAlone: waiting.isAlone)
        if !line.isWaiting { order.append(line) }
        line.putBack(waiting)
        line.isResting = true
        restsEndAt = min(restsEndAt, moment)
    }

    mutating func endRests() {
        guard restsEndAt != .max else { return }
        restsEndAt = .max
        for line in order { line.isResting = false }
    }

    func shrink(_ key: SegmentKey, _ end: Int64) {
        for line in order { line.change(key) { $0.stopAt = min(end, $0.stopAt ?? end) } }
    }

    func limit(_ key: SegmentKey, to rate: Int64?) {
        for line in order { line.change(key) { $0.request.limitRate = rate } }
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

    private func hasRoom(_ line: HostQueue) -> Bool {
        if line.isResting { return false }
        guard line.speaksHTTP2 else { return line.active < configuration.maxConnectionsPerHost }
        guard line.active < configuration.maxConcurrentStreams else { return false }
        guard line.upcoming.map(isAlone) == true else { return true }
        let shared = line.active > line.activeAlone ? 1 : 0
        return line.activeAlone + shared < configuration.maxConnectionsPerHost
    }
}
