import Foundation
import LonghaulCore
import LonghaulPlatform
import LonghaulTestSupport
import Synchronization
import Testing

@testable import Longhaul

/// Finite-length work: tokens, their time, and what is said about them.
@Suite(.timeLimit(.minutes(60))) struct ActivityTests {
    /// An address at which no bus listens.
    private let home = Activities(bus: "unix:path=/nonexistent/bus")

    @Test func aTokensTimeFalls() async throws {
        let activity = try home.begin("send message", budget: 20)
        let before = activity.remainingTime
        #expect(before > 15 && before <= 20)
        try await eventually("it falls") { activity.remainingTime < before }
        activity.end()
        activity.end()
        #expect(activity.remainingTime == 0)
        #expect(BackgroundActivity.remainingTime == nil)
    }

    @Test func theOperationKnowsItsTime() async throws {
        let center = home.center
        let inside = try await center.run("send message", budget: 20) {
            BackgroundActivity.remainingTime
        } onExpiration: {
            Issue.record("it was in time")
        }
        #expect(try #require(inside) > 0)
        #expect(home.notices.isDisjoint(with: [.leaked("send message")]))
        await #expect(throws: LonghaulError.self) {
            try await center.run("", budget: 20) {
            } onExpiration: {
            }
        }
    }

    @Test func aTokenOverItsBudgetIsEndedAndReported() async throws {
        let calls = Atomic(0)
        let activity = try home.begin("send message", budget: 0.05) {
            calls.add(1, ordering: .relaxed)
        }
        try await eventually("it is reported") {
            home.notices.contains(.overdue("send message", 0.05))
        }
        try await eventually("its handler is called") { calls.load(ordering: .relaxed) == 1 }
        #expect(activity.remainingTime == 0)
    }

    @Test func anOperationOverItsBudgetIsCancelled() async throws {
        let center = home.center
        let order = Mutex<[String]>([])
        await #expect(throws: CancellationError.self) {
            try await center.run("send message", budget: 0.05) {
                do {
                    try await Task.sleep(for: .seconds(600))
                } catch {
                    order.withLock { $0.append("cancelled") }
                    throw error
                }
            } onExpiration: {
                order.withLock { $0.append("expired") }
            }
        }
        #expect(order.withLock { $0 } == ["expired", "cancelled"])
        #expect(home.notices.contains(.overdue("send message", 0.05)))
    }

    @Test func cancellingTheCallerCancelsTheOperation() async throws {
        let center = home.center
        let (begun, begin) = AsyncStream<Void>.makeStream()
        let caller = Task {
            try await center.run("send message", budget: 600) {
                begin.finish()
                try await Task.sleep(for: .seconds(600))
            } onExpiration: {
                Issue.record("its time is not over")
            }
        }
        for await _ in begun {}
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
    }

    @Test func aTokenThatIsLetGoOfIsReported() throws {
        do { _ = try home.begin("send message") }
        #expect(home.notices.contains(.leaked("send message")))
        let kept = try home.begin("save document")
        kept.end()
        #expect(!home.notices.contains(.leaked("save document")))
    }

    @Test(arguments: ["", "a\nb", String(repeating: "a", count: 201)])
    func aNameThatIsNoneIsRefused(name: String) {
        #expect(throws: LonghaulError.self) { try home.begin(name) }
    }

    @Test(arguments: [0, -1, 90_000, Double.infinity, .nan])
    func aBudgetThatIsNoneIsRefused(budget: Double) {
        #expect(throws: LonghaulError.self) { try home.begin("send message", budget: budget) }
    }

    @Test func withoutABusItIsSaidOnceThatNothingHoldsSleepBack() async throws {
        for _ in 1...3 {
            let activity = try home.begin("send message")
            try await eventually("it is said") {
                home.notices.contains(.nothingHoldsSleepBack)
            }
            #expect(!home.center.holdsSleepBack)
            activity.end()
        }
        #expect(home.count(of: .nothingHoldsSleepBack) == 1)
    }
}

/// The delay lock, by logind's stand-in on a private bus.
@Suite(
    .timeLimit(.minutes(60)),
    .enabled(if: MockBus.isPossible, "skipped: needs dbus-daemon and python3-dbusmock"))
struct ActivityLockTests {
    private let bus: MockBus
    private let home: Activities

    init() throws {
        bus = try MockBus()
        home = Activities(bus: bus.address)
    }

    /// - Parameter patience: how long it waits for locks.
    private func logind(patience: Double) throws -> CLIProcess {
        let service = try bus.service(.logind)
        try bus.tell(
            .logind,
            """
            AddProperty('org.freedesktop.login1.Manager', 'InhibitDelayMaxUSec', \
            dbus.UInt64(\(Int(patience * 1e6))))
            """)
        return service
    }

    @Test func allTokensShareOneLock() async throws {
        let service = try logind(patience: 5)
        #expect(!home.center.holdsSleepBack)
        let first = try home.begin("send message")
        try await eventually("the lock is held") { home.center.holdsSleepBack }
        let second = try home.begin("save document")
        #expect(try bus.locks(1, reason: "background activity: send message"))
        first.end()
        #expect(home.center.holdsSleepBack)
        #expect(try bus.locks(1))
        second.end()
        #expect(!home.center.holdsSleepBack)
        try await eventually("the lock is given back") { try bus.locks(0) }

        let third = try home.begin("print")
        try await eventually("it is held for another reason") {
            try bus.locks(1, reason: "background activity: print")
        }
        third.end()
        #expect(home.faults.isEmpty)
        withExtendedLifetime(service) {}
    }

    @Test(arguments: ["PrepareForSleep", "PrepareForShutdown"])
    func theMachineWaitsForTheWorkAndNoLonger(signal: String) async throws {
        let service = try logind(patience: 600)
        let activity = try home.begin("send message", budget: 900) {
            Issue.record("its time is not over")
        }
        try await eventually("the lock is held") { home.center.holdsSleepBack }
        try bus.announce(signal, true)
        try await eventually("its time is logind's") { activity.remainingTime < 600 }
        #expect(activity.remainingTime > 300)
        let late = try home.begin("save document", budget: 900)
        #expect(late.remainingTime < 600)
        late.end()
        #expect(home.center.holdsSleepBack)
        #expect(try bus.locks(1))
        activity.end()
        try await eventually("the machine goes on") { try bus.locks(0) }
        try bus.announce(signal, false)

        let next = try home.begin("send message")
        try await eventually("the lock is held again") { home.center.holdsSleepBack }
        next.end()
        withExtendedLifetime(service) {}
    }

    @Test func handlersRunShortlyBeforeTheMachineSleeps() async throws {
        let service = try logind(patience: 0.4)
        let (returned, letReturn) = AsyncStream<Void>.makeStream()
        let calls = Atomic(0)
        let first = try home.begin("send message") { calls.add(1, ordering: .relaxed) }
        let second = try home.begin("save document") {
            calls.add(1, ordering: .relaxed)
            for await _ in returned {}
        }
        try await eventually("the lock is held") { home.center.holdsSleepBack }
        try bus.announce("PrepareForSleep", true)
        try await eventually("the handlers run") { calls.load(ordering: .relaxed) == 2 }
        #expect(first.remainingTime == 0 && second.remainingTime == 0)
        #expect(home.center.holdsSleepBack)
        // No time is left to one that begins now.
        let late = try home.begin("print") { calls.add(1, ordering: .relaxed) }
        try await eventually("its handler runs") { calls.load(ordering: .relaxed) == 3 }
        #expect(late.remainingTime == 0)
        letReturn.finish()
        try await eventually("the machine goes on") { try bus.locks(0) }
        #expect(!home.center.holdsSleepBack)
        #expect(home.faults.isEmpty)
        withExtendedLifetime(service) {}
    }

    @Test func anOperationIsCancelledBeforeTheMachineSleeps() async throws {
        let service = try logind(patience: 0.4)
        let (center, bus) = (home.center, bus)
        let call = Task {
            try await center.run("send message", budget: 900) {
                try await Task.sleep(for: .seconds(900))
            } onExpiration: {
            }
        }
        try await eventually("the lock is held") { center.holdsSleepBack }
        try bus.announce("PrepareForSleep", true)
        await #expect(throws: CancellationError.self) { try await call.value }
        try await eventually("the machine goes on") { try bus.locks(0) }
        withExtendedLifetime(service) {}
    }

    @Test func wokenBeforeItsEndItHasItsBudgetAgain() async throws {
        let service = try logind(patience: 600)
        let activity = try home.begin("send message", budget: 900)
        try await eventually("the lock is held") { home.center.holdsSleepBack }
        try bus.announce("PrepareForShutdown", true)
        try await eventually("its time is logind's") { activity.remainingTime < 600 }
        try bus.announce("PrepareForShutdown", false)
        try await eventually("its time is its own") { activity.remainingTime > 600 }
        try await eventually("one lock is held") { try bus.locks(1) }
        activity.end()
        withExtendedLifetime(service) {}
    }

    @Test func aBusThatHangsHoldsNoWorkUp() async throws {
        bus.hang()
        let taken = try ContinuousClock().measure { try home.begin("send message").end() }
        #expect(taken < .seconds(1))
        let second = try home.begin("send message")
        try await eventually("it is said that nothing holds sleep back") {
            home.notices.contains(.nothingHoldsSleepBack)
        }
        #expect(!home.center.holdsSleepBack)
        second.end()
    }

    @Test func aCancelledTaskBeginsNoOperation() async throws {
        let begun = Mutex(0)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await withBackgroundActivity("send message") { begun.withLock { $0 += 1 } }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(begun.withLock { $0 } == 0)
    }

    @Test func aKilledProcessHoldsNothing() async throws {
        let service = try logind(patience: 5)
        let program = try CLIProcess(
            BuiltBinary.named("LonghaulTestSession"), ["-", "activity", "send message"],
            environment: ProcessInfo.processInfo.environment.merging([
                "DBUS_SYSTEM_BUS_ADDRESS": bus.address
            ]) { $1 })
        try await program.waitForOutput("held")
        #expect(try bus.locks(1, reason: "background activity: send message"))
        #expect(
            program.errors.contains("warning longhaul: a background activity was let go of"))
        #expect(program.errors.contains("activity=\"send message\""))
        program.send(SIGKILL)
        try await eventually("its lock is gone") { try bus.locks(0) }
        withExtendedLifetime(service) {}
    }
}

/// A center of activities on a bus of the test's own, and what it reported.
private final class Activities: Sendable {
    let center: ActivityCenter
    private let reported: Reported

    private final class Reported: Sendable {
        let notices = Mutex<[ProgramNotice]>([])
    }

    init(bus: String) {
        var context = ConditionContext(busAddress: bus)
        context.busRetrySeconds = (0.05, 0.2)
        let reported = Reported()
        self.reported = reported
        center = ActivityCenter(context) { notice in
            reported.notices.withLock { $0.append(notice) }
        }
    }

    func begin(
        _ name: String, budget: Double = 60,
        onExpiration: @escaping @Sendable () async -> Void = {}
    ) throws -> BackgroundActivity {
        try BackgroundActivity(name, budget: budget, in: center, onExpiration: onExpiration)
    }

    var notices: Set<ProgramNotice> { Set(reported.notices.withLock { $0 }) }

    /// Faults of the program; a slow machine may have logind's answer come late.
    var faults: Set<ProgramNotice> { notices.subtracting([.nothingHoldsSleepBack]) }

    func count(of notice: ProgramNotice) -> Int {
        reported.notices.withLock { $0.count { $0 == notice } }
    }
}
