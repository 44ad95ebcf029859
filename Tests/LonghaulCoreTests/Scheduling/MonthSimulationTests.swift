import Foundation
import LonghaulCore
import Testing

@Suite struct MonthSimulationTests {
    private static let count =
        ProcessInfo.processInfo.environment["LONGHAUL_MONTHS"].flatMap { UInt64($0) } ?? 8

    @Test(arguments: 1...count) func aMonth(seed: UInt64) {
        var world = MonthSimulation(seed: seed)
        var steps = 0
        while world.monotonic < MonthSimulation.length + 8 * 86_400, steps < 200_000 {
            world.turn()
            world.pass(world.step())
            if world.chance(0.3, &world.random) { world.disturb() }
            steps += 1
        }
        #expect(world.complaints.isEmpty, "\(world.complaints.prefix(3))")
        // Bursts are worked off within hours, by whoever they were asked for.
        #expect(world.longestTurn < 6 * 3600, "seed \(seed): \(world.longestTurn)")
        #expect(world.items.isEmpty, "seed \(seed)")
        // A month in which nothing happens proves nothing.
        let completed = world.ended.count { $0.end == .completed }
        #expect(completed > 100 && world.stops > 0 && world.crashes > 5 && world.jumps > 0)
        #expect(world.checkedDeadlines > 0, "seed \(seed)")
        #expect(world.waived > 0, "seed \(seed): \(world.waived)")
    }

    /// More foreground work than the machine can do, for ever: the rest gets its share.
    @Test func anEndlessForegroundStarvesNobody() {
        var waiting = (1...10).map { TransferID(rawValue: $0) }
        var running: [(transfer: Running, ends: Int)] = []
        let start = Timestamp(milliseconds: 1_790_000_000_000)
        var minute = 0
        var next: Int64 = 100
        var waits: [Int] = []
        while !waiting.isEmpty, minute < 1000 {
            let now = start + Double(minute) * 60
            running.removeAll { $0.ends <= minute }
            let low = waiting.map {
                Candidate(
                    id: $0, session: "s", origin: OriginID(rawValue: "o"), priority: .low,
                    eligibility: EligibilityKey(isDiscretionary: true).eligibility,
                    waitingSince: start)
            }
            let high = (0..<40).map { index in
                Candidate(
                    id: TransferID(rawValue: next + index), session: "s",
                    origin: OriginID(rawValue: "p\(index)"), priority: .high, waitingSince: now,
                    deadline: now + 120)
            }
            next += 40
            let plan = SchedulerPolicy().plan(
                head: low + high, running: running.map(\.transfer), origins: [:], now: now)
            for id in plan.starts {
                let isLow = waiting.contains(id)
                running.append(
                    (
                        Running(
                            id: id, session: "s", origin: OriginID(rawValue: isLow ? "o" : "p"),
                            eligibility: isLow
                                ? EligibilityKey(isDiscretionary: true).eligibility : .plain,
                            overdueSince: id == plan.overdue ? now : nil),
                        minute + (isLow ? 90 : 1)
                    ))
                if isLow { waits.append(minute) }
            }
            waiting.removeAll { plan.starts.contains($0) }
            minute += 1
        }
        #expect(waits == (1...10).map { 31 * $0 })
    }
}
