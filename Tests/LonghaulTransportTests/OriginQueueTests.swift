import LonghaulCore
import Testing

@testable import LonghaulTransport

struct OriginQueueTests {
    private var queue = OriginQueue(configuration: TransportConfiguration())

    private func request(
        _ serial: Int64, _ url: String = "https://a.example/x", alone: Bool = false
    ) -> SegmentRequest {
        var connection = ConnectionSettings()
        connection.ownConnection = alone
        return SegmentRequest(
            key: SegmentKey(fetch: FetchID(rawValue: 1), serial: serial), url: url,
            headers: HeaderFields(), connection: connection,
            target: SegmentTarget(descriptor: -1, cell: 0), noticeEvery: 0
        ) { _ in .refuse }
    }

    /// Takes all that may go out.
    private mutating func takeAll() -> [(request: SegmentRequest, host: HostQueue)] {
        var taken: [(SegmentRequest, HostQueue)] = []
        while let (waiting, host) = queue.next() { taken.append((waiting.request, host)) }
        return taken
    }

    @Test mutating func anOriginGetsItsConnectionsAndNoMore() {
        for serial in 1...10 { queue.append(request(Int64(serial))) }
        let taken = takeAll()
        #expect(taken.map(\.request.key.serial) == [1, 2, 3, 4, 5, 6])
        queue.release(taken[0].host, isAlone: false)
        #expect(takeAll().map(\.request.key.serial) == [7])
    }

    @Test mutating func oneOriginDoesNotHoldUpAnother() {
        for serial in 1...10 { queue.append(request(Int64(serial))) }
        queue.append(request(11, "https://b.example/x"))
        #expect(takeAll().map(\.request.key.serial).contains(11))
    }

    @Test mutating func originsAreServedInTurn() {
        for serial in 1...3 { queue.append(request(Int64(serial))) }
        for serial in 4...6 { queue.append(request(Int64(serial), "https://b.example/x")) }
        #expect(takeAll().map(\.request.key.serial) == [1, 4, 2, 5, 3, 6])
    }

    @Test mutating func streamsShareAConnectionOnceTheyMay() {
        for serial in 1...100 { queue.append(request(Int64(serial))) }
        let taken = takeAll()
        #expect(taken.count == 6)
        taken[0].host.speaksHTTP2 = true
        #expect(takeAll().count == 58)
    }

    /// One limit for connections and streams: those with a connection to themselves count too.
    @Test mutating func aLimitForAllHoldsOverHTTP2() {
        var limits = SchedulerLimits()
        limits.perOrigin = 2
        limits.perHTTP2Origin = 2
        queue.configuration.setLimitsPerOrigin(limits)
        for serial in 1...10 { queue.append(request(Int64(serial), alone: serial % 2 == 0)) }
        var taken = takeAll()
        #expect(taken.count == 2)
        taken[0].host.speaksHTTP2 = true
        #expect(takeAll().isEmpty)
        queue.release(taken.removeFirst().host, isAlone: false)
        #expect(takeAll().count == 1)
    }

    @Test mutating func connectionsOfTheirOwnStayFewOverHTTP2() {
        queue.append(request(1))
        let first = takeAll()[0]
        first.host.speaksHTTP2 = true
        for serial in 2...20 { queue.append(request(Int64(serial), alone: true)) }
        let alone = takeAll()
        // One of the six is shared.
        #expect(alone.count == 5)
        queue.release(first.host, isAlone: false)
        #expect(takeAll().count == 1)
        queue.release(alone[0].host, isAlone: true)
        #expect(takeAll().count == 1)
    }

    @Test mutating func theTotalIsBounded() {
        for serial in 1...100 {
            queue.append(request(Int64(serial), "https://\(serial).example/x"))
        }
        #expect(takeAll().count == TransportConfiguration().maxActiveRequests)
    }

    @Test mutating func whatWaitsCanBeTakenBackAndShrunk() {
        for serial in 1...10 { queue.append(request(Int64(serial))) }
        let taken = takeAll()
        queue.shrink(request(9).key, 77)
        let removed = queue.remove([request(8).key, request(1).key])
        #expect(removed == [request(8).key])
        for (_, host) in taken { queue.release(host, isAlone: false) }
        var ends: [Int64: Int64?] = [:]
        while let (waiting, _) = queue.next() {
            ends[waiting.request.key.serial] = waiting.stopAt
        }
        #expect(ends == [7: nil, 9: 77, 10: nil])
        #expect(queue.isEmpty)
    }
}
