import LonghaulCore
import Testing

/// Bounds are wide: the model is coarse. The figures on a real kernel are in
/// docs/internals/yielding.md.
struct YieldControlTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var sender: SimulatedLine.Sender
        var connections: Int
        var base: Double
        var testDescription: String {
            "\(connections) × \(sender), \(Int(base * 1000)) ms"
        }
    }

    static let cases: [Case] = [1, 4].flatMap { connections in
        [0.002, 0.02, 0.08].flatMap { base in
            // Over two milliseconds BBR keeps a queue that no clock of ours tells from none.
            (base < 0.01 ? [SimulatedLine.Sender.cubic] : [.cubic, .bbr]).map {
                Case(sender: $0, connections: connections, base: base)
            }
        }
    }

    @Test(arguments: cases)
    func takesAFreeLineWithAShortQueue(_ given: Case) {
        var world = YieldingWorld(
            SimulatedLine(base: given.base), connections: given.connections, sender: given.sender)
        world.run(4)
        #expect(world.share(10) > 0.9)
        #expect(world.queueMax < 0.04)
    }

    @Test(arguments: cases)
    func givesWayWithinASecondAndComesBack(_ given: Case) {
        var world = YieldingWorld(
            SimulatedLine(base: given.base), connections: given.connections, sender: given.sender)
        world.run(5)
        let other = world.join(given.sender)
        // Its own slow start takes some round trips.
        world.run(1 + 12 * given.base)
        let beside = world.run(8)
        #expect(beside[other] > 0.9)
        #expect(beside.prefix(given.connections).reduce(0, +) < 0.08)
        world.line.flows[other].isActive = false
        world.run(5)
        #expect(world.share(2) > 0.85)
    }

    @Test func keepsAnyConnectionAlive() {
        var world = YieldingWorld(SimulatedLine(), connections: 4, sender: .cubic)
        world.run(3)
        _ = world.join(.cubic)
        world.run(2)
        for share in world.run(20).prefix(4) { #expect(share * 5e6 * 20 > 10_000) }
    }

    @Test func staysOutOfTheWayForMinutes() {
        var world = YieldingWorld(SimulatedLine(), connections: 2, sender: .cubic)
        world.run(5)
        let other = world.join(.cubic)
        world.run(2)
        #expect(world.run(180)[other] > 0.93)
    }

    @Test func takesALongerRouteForTheNewBase() {
        var world = YieldingWorld(SimulatedLine(), connections: 1, sender: .cubic)
        world.run(5)
        world.line.base = 0.05
        world.run(240)
        #expect(world.share(20) > 0.85)
    }

    @Test func findsOutThatTheLineHasBecomeSlower() {
        var world = YieldingWorld(SimulatedLine(), connections: 1, sender: .cubic)
        world.run(12)
        world.line.rate = 2e6
        world.run(15)
        #expect(world.share(10) > 0.85)
    }

    @Test func aSlowSenderIsLeftAlone() {
        var world = YieldingWorld(SimulatedLine(), connections: 1, sender: .slow(500_000))
        world.run(3)
        #expect(world.share(10) > 0.095)
    }

    @Test func takesHalfWhereNoRoundTripsAreKnown() {
        var world = YieldingWorld(SimulatedLine(), connections: 1, sender: .cubic)
        world.knowsRoundTrips = false
        world.run(6)
        #expect(world.state == .sharing)
        let share = world.share(10)
        #expect(share > 0.4 && share < 0.6)
        world.knowsRoundTrips = true
        world.run(30)
        #expect(world.state != .sharing)
    }

    @Test func limitsASenderThatKeepsToNoWindow() {
        var world = YieldingWorld(
            SimulatedLine(limit: 2_000_000), connections: 1, sender: .deaf)
        let other = world.join(.cubic)
        world.run(10)
        #expect(world.run(10)[other] > 0.3)
    }

    @Test func nothingToDoWithoutConnections() {
        var control = YieldControl()
        #expect(control.tick([], now: Instant(nanoseconds: 1)).isEmpty)
        #expect(control.report(Instant(nanoseconds: 2)).state == .open)
    }

    @Test func aNewConnectionBeginsWithTenPackets() {
        var control = YieldControl()
        let sample = YieldSample(connection: 7, roundTrip: nil, bytes: 0, segment: 1000)
        let orders = control.tick([sample], now: Instant(nanoseconds: 1))
        #expect(orders == [YieldOrder(connection: 7, window: 10_000)])
    }

    @Test(arguments: YieldReport.State.allCases)
    func aReportFitsIntoAWord(_ state: YieldReport.State) {
        let report = YieldReport(
            state: state, queueingDelay: 0.0123, window: 5 << 20, rate: 0, share: 0.42)
        #expect(YieldReport(packed: report.packed) == report)
    }

    @Test(arguments: [UInt64(0), 9, .max])
    func otherWordsAreNoReports(_ word: UInt64) {
        #expect(YieldReport(packed: word) == nil)
    }

    @Test func anUnknownDelayStaysUnknown() {
        let report = YieldReport(state: .open, queueingDelay: nil, window: 0, rate: 0, share: 1)
        #expect(YieldReport(packed: report.packed) == report)
    }
}
