import Glibc
import LonghaulCore
import LonghaulTestSupport
import Testing

@testable import LonghaulSystem

@Suite struct PowerSupplyTests {
    private let scratch: Scratch
    private let supplies: PowerFixture

    init() throws {
        scratch = try Scratch()
        supplies = try PowerFixture(scratch.path("sys"))
    }

    private func watched(_ interest: ConditionInterest = [.power, .battery]) throws -> Watched {
        try Watched(.empty(in: scratch), interest)
    }

    @Test func readsSupplies() throws {
        try supplies.mains(online: 0).battery(40, "Discharging")
        // That of a mouse is nobody's power.
        try supplies.supply(
            "hid", ["type": "Battery", "scope": "Device", "capacity": "5", "status": "Full"])
        let watched = try watched()
        watched.becomes(\.power, .battery, "sysfs")
        watched.becomes(\.battery, 40, "sysfs")
    }

    @Test func readsAgainWhenAsked() throws {
        try supplies.mains(online: 0).battery(40, "Discharging")
        let watched = try watched()
        watched.becomes(\.power, .battery, "sysfs")
        let since = watched.watch.current.power.since
        try supplies.mains(online: 1).battery(41, "Charging")
        watched.watch.lookAnew()
        watched.becomes(\.power, .external, "sysfs")
        watched.becomes(\.battery, 41, "sysfs")
        #expect(try #require(watched.watch.current.power.since) >= #require(since))
    }

    @Test func readsTheChargeNowAndThenOnlyWhileSomebodyWaitsForIt() throws {
        try supplies.mains(online: 1).battery(40, "Charging")
        var surroundings = ConditionSurroundings.empty(in: scratch)
        surroundings.batterySampleSeconds = 0.05
        let watched = try Watched(surroundings, [.power])
        watched.becomes(\.power, .external, "sysfs")
        #expect(watched.watch.current.battery == .unknown)
        watched.watch.setInterest([.power, .battery])
        watched.becomes(\.battery, 40, "sysfs")
        try supplies.battery(41, "Charging")
        watched.becomes(\.battery, 41, "sysfs")
    }

    /// In a container the kernel's word does not arrive.
    @Test func looksNowAndThenWhereItIsNotTold() throws {
        try supplies.mains(online: 1).battery(40, "Charging")
        var surroundings = ConditionSurroundings.empty(in: scratch)
        surroundings.hearsDevices = false
        surroundings.powerSampleSeconds = 0.05
        let watched = try Watched(surroundings, [.power])
        watched.becomes(\.power, .external, "sysfs")
        try supplies.mains(online: 0).battery(40, "Discharging")
        watched.becomes(\.power, .battery, "sysfs")
    }

    @Test func aMachineWithoutBatteryIsOnExternalPower() throws {
        let watched = try watched()
        watched.becomes(\.power, .external, "sysfs")
        watched.becomes(\.battery, nil, "sysfs")
    }

    @Test func withoutSysfsNothingIsKnown() throws {
        let watched = try Watched(.empty(), [.power, .battery, .network, .idle])
        let read = watched.watch.read(within: 10)
        #expect(read.power.value == nil && read.power.source == "none")
        #expect(read.battery.value == nil && read.network.value == nil && read.isIdle.value == nil)
        #expect(read.power.since != nil)
    }
}

@Suite struct IdleSamplerTests {
    private let scratch: Scratch
    private var surroundings: ConditionSurroundings

    init() throws {
        scratch = try Scratch()
        for name in ["proc", "proc/pressure", "dev", "dev/pts"] { try scratch.subdirectory(name) }
        surroundings = .empty(in: scratch)
        surroundings.idleSampleSeconds = (0.02, 0.02)
        try load("0.00", pressure: "0.00")
    }

    private func load(_ load: String, pressure: String) throws {
        try scratch.write("\(load) 0.10 0.20 1/100 4711\n", to: "proc/loadavg")
        try scratch.write(
            "some avg10=\(pressure) avg60=0.00 avg300=0.00 total=1\nfull avg10=0.00\n",
            to: "proc/pressure/cpu")
    }

    /// Somebody typed at a terminal so many seconds ago.
    private func typed(_ terminal: String, secondsAgo: Int) throws {
        let path = try scratch.write("", to: "dev/\(terminal)")
        let then = timespec(
            tv_sec: Int(SystemClock.now().wall.milliseconds / 1_000) - secondsAgo, tv_nsec: 0)
        try #require(utimensat(AT_FDCWD, path, [then, then], 0) == 0)
    }

    @Test func loadMakesItBusy() throws {
        let watched = try Watched(surroundings, .idle)
        watched.becomes(\.isIdle, true, "proc")
        try load("999.0", pressure: "0.00")
        watched.becomes(\.isIdle, false, "proc")
        try load("0.00", pressure: "80.00")
        watched.becomes(\.isIdle, false, "proc")
        try load("0.00", pressure: "0.00")
        watched.becomes(\.isIdle, true, "proc")
    }

    @Test func typingMakesItBusy() throws {
        try typed("pts/7", secondsAgo: 3_600)
        let watched = try Watched(surroundings, .idle)
        watched.becomes(\.isIdle, true, "proc")
        try typed("pts/7", secondsAgo: 2)
        watched.becomes(\.isIdle, false, "proc")
        try typed("pts/7", secondsAgo: 301)
        watched.becomes(\.isIdle, true, "proc")
    }

    @Test func loginsCountToo() throws {
        try typed("tty3", secondsAgo: 2)
        let watched = try Watched(surroundings, .idle)
        watched.becomes(\.isIdle, true, "proc")
        try login("tty3")
        watched.becomes(\.isIdle, false, "proc")
        try typed("tty3", secondsAgo: 1_000)
        watched.becomes(\.isIdle, true, "proc")
        // What is typed in a graphical session, no file tells.
        try login(":0")
        watched.becomes(\.isIdle, false, "proc")
    }

    private func login(_ line: String) throws {
        var record = utmp()
        record.ut_type = 7
        withUnsafeMutableBytes(of: &record.ut_line) { $0.copyBytes(from: line.utf8) }
        let file = open(scratch.path("utmp"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        defer { close(file) }
        let size = MemoryLayout<utmp>.size
        try #require(write(file, &record, size) == size)
    }

    @Test func isNotSampledWhenNobodyWaitsForIt() throws {
        let watched = try Watched(surroundings, .idle)
        watched.becomes(\.isIdle, true, "proc")
        watched.watch.setInterest(.power)
        eventually("nobody asks any more") { watched.watch.current.isIdle == .unknown }
        let told = watched.changes.count
        try load("999.0", pressure: "99.00")
        usleep(200_000)
        #expect(watched.changes.count == told)
    }
}

@Suite struct OverriddenWatchTests {
    @Test func overridesStandBeforeTheMachine() throws {
        let scratch = try Scratch()
        try PowerFixture(scratch.path("sys")).mains(online: 1)
        var overrides = ConditionOverrides()
        overrides.environment = try ConditionOverride(parsing: "battery=40")
        overrides.kept.override = try ConditionOverride(parsing: "battery=90,power=battery")
        let watched = try Watched(.empty(in: scratch), [.power, .battery], overrides: overrides)
        watched.becomes(\.power, .battery, "store")
        watched.becomes(\.battery, 40, "environment")
        overrides.kept = KeptOverride()
        watched.watch.setOverrides(overrides)
        watched.becomes(\.power, .external, "sysfs")
        #expect(watched.watch.current.battery.value == 40)
    }
}
