internal import LonghaulModel

struct WaitingRequest {
    var request: SegmentRequest
    var stopAt: Int64?
    /// Handle of the request, if libcurl had no connection for it; the handle continues unchanged.
    var handle: EasyHandle?
    /// The request gets an exclusive connection and counts as such; set when it is dequeued.
    var isAlone = false
    /// Because its body may be slowed down; set when it is dequeued.
    var isSlowed = false
}

/// The waiting and running requests of one origin.
final class HostQueue {
    let name: Substring
    var active = 0
    /// Number of these with an exclusive connection.
    var activeAlone = 0
    /// Learned from an answer: its requests share a connection.
    var speaksHTTP2 = false
    /// Learned from a refusal of HTTP/1.1.
    var lacksHTTP1 = false
    /// Learned from a 417.
    var refusesExpect = false
    /// When a connection to share was begun because older ones are not trusted, in monotonic
    /// nanoseconds.
    var renewedAt: Int64?
    /// libcurl had no connection for the next request, and is unlikely to have one yet.
    var isResting = false
    private var waiting: [WaitingRequest] = []
    private var first = 0

    init(name: Substring) {
        self.name = name
    }

    /// See ``RunningRequest/slow(_:_:)``.
    func prefersHTTP1(_ request: SegmentRequest) -> Bool { request.sendsBody && !lacksHTTP1 }

    var isWaiting: Bool { first < waiting.count }

    /// Nothing runs or waits, and nothing was learned that the next request needs.
    var isForgettable: Bool { active == 0 && !isWaiting && !refusesExpect }

    /// The next request.
    var upcoming: SegmentRequest? { isWaiting ? waiting[first].request : nil }

    func append(_ request: SegmentRequest) {
        waiting.append(WaitingRequest(request: request))
    }

    /// Puts the request before all others.
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
        waiting[first].handle = nil
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

/// Requests that wait for their origin's connections, or for the transport's. They are not in the
/// multi handle: its cost grows with every handle, and a request waiting inside would use up its
/// connect timeout. Only libcurl knows the actual connections (a redirect's target, a connection
/// with few free streams): a request without one is put back here.
struct OriginQueue {
    var configuration: TransportConfiguration
    /// A rate is set for all requests together.
    var slowsAll = false
    private var hosts: [Substring: HostQueue] = [:]
    /// Queues with waiting requests, served round-robin.
    private var order: [HostQueue] = []
    private var active = 0
    /// When resting queues are tried again, in monotonic nanoseconds.
    private(set) var restsEndAt = Int64.max

    init(configuration: TransportConfiguration) {
        self.configuration = configuration
    }

    var isEmpty: Bool { order.isEmpty }

    mutating func append(_ request: SegmentRequest) {
        let name = RequestURL.prefix(of: request.url)
        let host = hosts[name] ?? add(name)
        if !host.isWaiting { order.append(host) }
        host.append(request)
    }

    private mutating func add(_ name: Substring) -> HostQueue {
        let host = HostQueue(name: name)
        hosts[name] = host
        return host
    }

    /// The next request that may go out, counted as active from here to ``release(_:)``.
    mutating func next() -> (WaitingRequest, HostQueue)? {
        guard active < configuration.maxActiveRequests else { return nil }
        guard let index = order.firstIndex(where: hasRoom) else { return nil }
        let host = order.remove(at: index)
        var waiting = host.next()
        waiting.isSlowed = isSlowed(waiting.request)
        waiting.isAlone = isAlone(waiting.request, at: host)
        if host.isWaiting { order.append(host) }
        host.active += 1
        if waiting.isAlone { host.activeAlone += 1 }
        active += 1
        return (waiting, host)
    }

    private func isAlone(_ request: SegmentRequest, at host: HostQueue) -> Bool {
        request.connection.ownConnection || isSlowed(request) || host.prefersHTTP1(request)
    }

    private func isSlowed(_ request: SegmentRequest) -> Bool {
        slowsAll || request.yields || request.limitRate != nil
    }

    /// - Parameter isAlone: its value when the request was dequeued.
    mutating func release(_ host: HostQueue, isAlone: Bool) {
        leave(host, isAlone: isAlone)
        if host.isForgettable { hosts[host.name] = nil }
        endRests()
    }

    private mutating func leave(_ host: HostQueue, isAlone: Bool) {
        host.active -= 1
        if isAlone { host.activeAlone -= 1 }
        active -= 1
    }

    /// Puts back a request that libcurl had no connection for. Its queue rests until any request
    /// ends, at most until this moment.
    mutating func putBack(_ waiting: WaitingRequest, _ host: HostQueue, until moment: Int64) {
        leave(host, isAlone: waiting.isAlone)
        if !host.isWaiting { order.append(host) }
        host.putBack(waiting)
        host.isResting = true
        restsEndAt = min(restsEndAt, moment)
    }

    mutating func endRests() {
        guard restsEndAt != .max else { return }
        restsEndAt = .max
        for host in order { host.isResting = false }
    }

    func shrink(_ key: SegmentKey, _ end: Int64) {
        for host in order { host.change(key) { $0.stopAt = min(end, $0.stopAt ?? end) } }
    }

    func limit(_ key: SegmentKey, to rate: Int64?) {
        for host in order { host.change(key) { $0.request.limitRate = rate } }
    }

    /// Removes requests that still wait.
    mutating func remove(_ keys: Set<SegmentKey>) -> [SegmentKey] {
        var removed: [SegmentKey] = []
        for host in order {
            host.remove { request in
                guard keys.contains(request.key) else { return false }
                removed.append(request.key)
                return true
            }
            if host.isForgettable { hosts[host.name] = nil }
        }
        order.removeAll { !$0.isWaiting }
        return removed
    }

    /// Removes all waiting requests.
    mutating func removeAll() -> [SegmentKey] {
        var removed: [SegmentKey] = []
        for host in order {
            while host.isWaiting { removed.append(host.next().request.key) }
            if host.isForgettable { hosts[host.name] = nil }
        }
        order = []
        return removed
    }

    private func hasRoom(_ host: HostQueue) -> Bool {
        if host.isResting { return false }
        guard host.speaksHTTP2 else { return host.active < configuration.maxConnectionsPerHost }
        guard host.active < configuration.maxConcurrentStreams else { return false }
        guard host.upcoming.map({ isAlone($0, at: host) }) == true else { return true }
        let shared = host.active > host.activeAlone ? 1 : 0
        return host.activeAlone + shared < configuration.maxConnectionsPerHost
    }
}
