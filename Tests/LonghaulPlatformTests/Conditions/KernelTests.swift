import Glibc
import LonghaulCore
import LonghaulTestSupport
import Testing

@testable import LonghaulPlatform

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
        var snapshot = ConditionContext.empty(in: scratch)
        snapshot.batterySampleSeconds = 0.05
        let watched = try Watched(snapshot, [.power])
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
        var snapshot = ConditionContext.empty(in: scratch)
        snapshot.hearsDevices = false
        snapshot.powerSampleSeconds = 0.05
        let watched = try Watched(snapshot, [.power])
        watched.becomes(\.power, .external, "sysfs")
        try supplies.mains(online: 0).battery(40, "Discharging")
        watched.becomes(\.power, .battery, "sysfs")
    }

    /// What was to be read again in a moment is nobody's business any more.
    @Test(arguments: [ConditionInterest.power, .battery])
    func sleepsWhenNobodyWaits(_ interest: ConditionInterest) throws {
        try supplies.mains(online: 1).battery(40, "Charging")
        var snapshot = ConditionContext.empty(in: scratch)
        snapshot.hearsDevices = false
        snapshot.powerSampleSeconds = 0.05
        snapshot.batterySampleSeconds = 0.05
        let watched = try Watched(snapshot, interest)
        try eventually("it has read") { try watched.processorSeconds() != nil }
        watched.watch.setInterest([])
        eventually("it has heard") { watched.watch.current == Conditions() }
        let before = try #require(try watched.processorSeconds())
        usleep(300_000)
        #expect(try #require(try watched.processorSeconds()) - before < 0.05)
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

/// What standing requests wait for besides conditions.
@Suite struct MountTests {
    private func mounts(_ watched: Watched) -> [Set<Int64>] {
        watched.takeEvents().compactMap {
            if case .mounts(let mounts) = $0 { mounts } else { nil }
        }
    }

    @Test(.enabled(if: geteuid() == 0, "mounting needs root")) func aMountIsToldAtOnce() throws {
        let scratch = try Scratch()
        let watched = try Watched(.empty(in: scratch), .mounts)
        var before: Set<Int64>?
        eventually(within: .seconds(2), "what is mounted is told") {
            before = mounts(watched).last ?? before
            return before?.isEmpty == false
        }
        let disk = try OwnDisk(memory: "1m", at: scratch.path("disk"))
        var isNew = false
        eventually(within: .seconds(2), "a mount is told") {
            isNew = isNew || mounts(watched).contains { !$0.isSubset(of: before ?? []) }
            return isNew
        }
        withExtendedLifetime(disk) {}
    }
}

@Suite struct ProcessGroupTests {
    @Test func countsTheTimeOfAGroup() throws {
        #expect(ProcessGroup.processorSeconds(Int32.max) == nil)
        let own = try #require(ProcessGroup.processorSeconds(getpgrp()))
        var sum = 0
        eventually(within: .seconds(5), "it grows with what is computed") {
            for number in 0..<3_000_000 { sum &+= number }
            return ProcessGroup.processorSeconds(getpgrp()) ?? 0 > own
        }
    }
}
