import Glibc
import LonghaulCore
import LonghaulSimulatedWire
import Testing

@testable import LonghaulEngine
@testable import LonghaulPlatform
@testable import LonghaulSimulation

/// A machine that sleeps under a running engine, between a simulated network, disk and clock.
@Suite struct SleepInhibitorTests {
    /// The engine with its guard, turn by turn, as `EngineLoop` has them.
    private final class Machine {
        let world: SimWorld
        private var sleep = SleepInhibitor()
        /// Closed when the machine may sleep.
        private var awaited: Int32 = -1

        init() throws {
            world = try SimWorld(seed: 11)
        }

        deinit {
            close(awaited)
            world.cleanUp()
        }

        func announceSleep() throws {
            var ends: [Int32] = [-1, -1]
            try #require(pipe(&ends) == 0)
            close(awaited)
            awaited = ends[0]
            take(.willSleep(DelayPermit(Descriptor(owning: ends[1]))))
        }

        func take(_ event: MachineEvent) {
            _ = sleep.respond(to: event, world.engine, now: world.now)
            world.inputs.append(.wake)
        }

        var maySleep: Bool {
            var asked = pollfd(fd: awaited, events: 0, revents: 0)
            return poll(&asked, 1, 0) == 1 && asked.revents & Int16(POLLHUP) != 0
        }

        /// Goes on until it holds, at most for so many seconds of the world.
        func run(for seconds: Double, until isDone: () throws -> Bool) throws -> Bool {
            let end = world.now.monotonic + seconds
            while world.now.monotonic < end {
                if try isDone() { return true }
                world.wire.advance(0.05)
                for _ in 0..<4 { world.disk.step() }
                // Why it waits then is checked elsewhere.
                world.isLeaving = world.engine.isLeaving
                if world.isTurnDue, let outcome = try world.turn() {
                    let next = sleep.afterTurn(
                        world.engine, isQuiet: outcome.isQuiet, SilentMachine(),
                        now: world.now)
                    if let next { world.nextTurn = min(world.nextTurn, next) }
                }
                world.pass(0.05)
            }
            return try isDone()
        }

        /// All that has happened, until nothing moves and the machine may sleep.
        func fallAsleep() throws {
            try announceSleep()
            #expect(!maySleep)
            #expect(try run(for: 5) { maySleep })
            #expect(world.wire.order.isEmpty)
            #expect(try world.transfer().state == .waiting)
        }
    }

    private static let size: Int64 = 3_000_000

    private func moving() throws -> Machine {
        let machine = try Machine()
        try machine.world.enqueue(Self.size) { _ in }
        #expect(
            try machine.run(for: 10) {
                machine.world.disk.cells.values.contains { $0.written > 200_000 }
            })
        return machine
    }

    private func ends(_ machine: Machine) throws {
        #expect(try machine.run(for: 30) { try machine.world.transfer().state == .completed })
        #expect(try machine.world.transfer().bytesFetched == Self.size)
    }

    @Test func whatWasStoppedGoesOnWhenTheMachineIsAwake() throws {
        let machine = try moving()
        try machine.fallAsleep()
        #expect(try !machine.run(for: 20) { !machine.world.wire.order.isEmpty })
        machine.take(.didWake)
        #expect(try machine.run(for: 1) { !machine.world.wire.order.isEmpty })
        // Told twice, it changes nothing.
        machine.take(.didWake)
        try ends(machine)
    }

    /// Nobody says that the machine is awake, and it was never asleep.
    @Test func afterAMinuteItGoesOnUntold() throws {
        let machine = try moving()
        try machine.fallAsleep()
        let since = machine.world.now.monotonic
        // What comes meanwhile waits too, whoever says so.
        try machine.world.enqueue(1_000) { _ in }
        machine.world.inputs.append(.wake)
        #expect(try machine.run(for: 70) { !machine.world.wire.order.isEmpty })
        let lain = machine.world.now.monotonic - since
        #expect(lain > 55 && lain <= 60.5, "\(lain)")
        try ends(machine)
        // The next sleep is one like the first.
        try machine.world.enqueue(Self.size) { _ in }
        #expect(try machine.run(for: 10) { !machine.world.wire.order.isEmpty })
        try machine.announceSleep()
        #expect(try machine.run(for: 5) { machine.maySleep })
        #expect(try !machine.run(for: 50) { !machine.world.wire.order.isEmpty })
    }

    /// The machine sleeps for eight hours, and whoever tells of it is gone when it wakes. The
    /// clocks have gone on meanwhile: an earliest begin has come, a deadline has passed.
    @Test func afterALongSleepEverythingIsReckonedAnew() throws {
        let machine = try moving()
        let now = machine.world.now.wall
        let later = try machine.world.enqueue(1_000) { $0.earliestBegin = now + 7_200 }
        let late = try machine.world.enqueue(1_000) {
            $0.earliestBegin = now + 36_000
            $0.deadline = .at(now + 18_000)
        }
        let far = try machine.world.enqueue(1_000) { $0.earliestBegin = now + 36_000 }
        try machine.fallAsleep()
        machine.world.pass(8 * 3_600)
        try ends(machine)
        #expect(try machine.world.transfer(later).state == .completed)
        #expect(try machine.world.transfer(late).error?.code == .timedOut)
        #expect(try machine.world.transfer(far).state == .waiting)
    }
}

/// A machine that says nothing.
private struct SilentMachine: ConditionsPort {
    func listen(
        _ report: @escaping @Sendable (Conditions) -> Void,
        onEvent: @escaping @Sendable (MachineEvent) -> Void
    ) {}

    func attend(_ isWanted: Bool) {}

    func guardIdleness(_ isWanted: Bool) {}
    func keepAwake(_ isWanted: Bool) {}
    func follow(_ triggers: Set<TaskTrigger>) {}

    func watch(_ interest: ConditionNeeds) -> Conditions { Conditions() }

    func lookAgain() {}

    func stop() {}
}
