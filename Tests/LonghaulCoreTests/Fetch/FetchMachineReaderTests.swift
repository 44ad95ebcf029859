import LonghaulCore
import Testing

/// A program reads the bytes of a fetch as they come.
@Suite struct FetchMachineReaderTests {
    private typealias Script = FetchMachineTests.Script

    private static let mib: Int64 = 1 << 20
    private static let total: Int64 = 20 << 20
    private let strong = "ETag: \"v1\""

    private func subscribers(_ script: Script, readFrom: Int64?) -> Subscribers {
        var leader = Subscriber(
            id: script.machine.transfer, request: script.machine.request,
            destination: script.machine.target.destination, deadline: .distantFuture,
            eligibility: .plain, isWanted: true, bytesFetched: 0)
        leader.readFrom = readFrom
        return Subscribers(leader: leader)
    }

    /// One request has brought the first mebibyte.
    private func begun(connections: Int, readFrom: Int64?) -> Script {
        var script = Script { $0.options.connections = .exactly(connections) }
        script.machine.frame.serve(subscribers(script, readFrom: readFrom))
        script.answer(head(200, "Content-Length: 20971520", strong, "Accept-Ranges: bytes"))
        script.event(.reserved)
        script.wrote(through: Self.mib, received: Self.mib)
        return script
    }

    private func stops(_ script: Script) -> [SegmentKey] {
        script.effects.flatMap { effect -> [SegmentKey] in
            if case .stop(let keys) = effect { return keys }
            return []
        }
    }

    @Test func itIsFetchedInOrderByOneRequest() {
        var script = begun(connections: 4, readFrom: 0)
        script.event(.tick)
        #expect(script.asks.count == 1 && stops(script).isEmpty)
    }

    @Test func aReaderElsewhereIsServedFirst() throws {
        var script = begun(connections: 1, readFrom: nil)
        script.machine.frame.serve(subscribers(script, readFrom: 10 * Self.mib))
        script.event(.tick)
        #expect(stops(script) == [script.asks[0].key])
        script.event(.tick)
        #expect(stops(script).isEmpty || stops(script).count == 1, "once")
        script.ended(.stopped, through: Self.mib, received: Self.mib)
        #expect(script.ranges.last == "bytes=10485760-")
        script.answer(head(206, "Content-Range: bytes 10485760-20971519/20971520", strong))
        script.ended(through: Self.total, received: 10 * Self.mib)
        // What is before its place comes last.
        #expect(script.ranges.last == "bytes=1048576-10485759")
        script.answer(head(206, "Content-Range: bytes 1048576-10485759/20971520", strong))
        script.ended(through: 10 * Self.mib, received: 9 * Self.mib)
        #expect(script.machine.isWhole && script.machine.leaving == nil)
    }

    /// Other requests would take their part of the line.
    @Test func requestsForOtherPartsEnd() throws {
        var script = begun(connections: 2, readFrom: nil)
        try #require(script.asks.count == 2)
        let middle = script.asks[1].ask.position
        script.answer(head(206, "Content-Range: bytes \(middle)-20971519/20971520", strong))
        script.wrote(through: middle + Self.mib, received: Self.mib, of: 1)
        script.machine.frame.serve(subscribers(script, readFrom: 0))
        script.event(.tick)
        #expect(stops(script) == [script.asks[1].key])
        script.ended(.stopped, through: middle + Self.mib, received: Self.mib, of: 1)
        #expect(script.asks.count == 2, "the first one goes on alone")
    }

    /// Without ranges each place is reached in its turn.
    @Test func withoutRangesNothingIsStopped() {
        var script = Script()
        script.machine.frame.serve(subscribers(script, readFrom: 10 * Self.mib))
        script.answer(head(200, "Content-Length: 20971520", strong))
        script.event(.reserved)
        script.wrote(through: Self.mib, received: Self.mib)
        script.event(.tick)
        #expect(script.asks.count == 1 && stops(script).isEmpty)
    }

    /// Parts without a validator prove nothing about bytes elsewhere. Nothing held is given up for
    /// that, and the reader's place is not asked for again and again.
    @Test func aPlaceThatCannotBeProvenIsReachedInItsTurn() {
        var script = begun(connections: 1, readFrom: nil)
        // If-Range is of no use there, which is known.
        script.origin.mishandlesIfRange = true
        let held = 9 * Self.mib
        script.wrote(through: held, received: held)
        script.machine.frame.serve(subscribers(script, readFrom: 10 * Self.mib))
        script.event(.tick)
        script.ended(.stopped, through: held, received: held)
        #expect(script.ranges.last == "bytes=10485760-")
        script.answer(head(206, "Content-Range: bytes 10485760-20971519/20971520"))
        script.ended(.refused, through: 0, received: 0)
        #expect(script.machine.have == ByteRanges(0..<held))
        let overlap = Limits.overlapBytes
        let start = held - overlap
        #expect(script.ranges.last == "bytes=\(start)-")
        script.answer(head(206, "Content-Range: bytes \(start)-20971519/20971520"))
        script.wrote(through: held + Self.mib, received: Self.mib + overlap)
        script.event(.tick)
        #expect(stops(script).isEmpty)
    }

    @Test func theFirstOfSeveralReadersCounts() {
        func subscriber(_ id: Int64, _ readFrom: Int64?) -> Subscriber {
            var subscriber = Subscriber(
                id: TransferID(rawValue: id),
                request: TransferRequest(url: "http://h/f", destination: .file("/d/f")),
                destination: "/d/f", deadline: .distantFuture, eligibility: .plain,
                isWanted: true, bytesFetched: 0)
            subscriber.readFrom = readFrom
            return subscriber
        }
        var subscribers = Subscribers(leader: subscriber(1, nil))
        #expect(subscribers.readFrom == nil)
        subscribers.admit(subscriber(2, 7))
        subscribers.admit(subscriber(3, 5))
        #expect(subscribers.readFrom == 5)
    }
}
