import Glibc
import LonghaulCore
import LonghaulTestSupport
import Testing

@testable import LonghaulPlatform

/// Against stand-ins on a private bus: every change is told within two seconds.
@Suite(.enabled(if: MockBus.isPossible, "skipped: needs dbus-daemon and python3-dbusmock"))
struct BusTests {
    private let bus: MockBus

    init() throws {
        bus = try MockBus()
    }

    private var snapshot: ConditionContext { .empty(bus: bus.address) }

    // MARK: - UPower

    @Test func noticesThatItIsUnplugged() throws {
        let service = try bus.service(.upower)
        let watched = try Watched(snapshot, .power)
        watched.becomes(\.power, .external, "upower")
        try bus.set(.upower, "OnBattery", "True")
        watched.becomes(\.power, .battery, "upower")
        try bus.set(.upower, "OnBattery", "False")
        watched.becomes(\.power, .external, "upower")
        #expect(watched.changes.map(\.power.value).suffix(3) == [.external, .battery, .external])
        #expect(watched.watch.current.network == .unknown)
        withExtendedLifetime(service) {}
    }

    @Test func followsTheChargeOfTheBattery() throws {
        let service = try bus.service(.upower)
        let watched = try Watched(snapshot, [.power, .battery])
        // The stand-in begins without a battery.
        watched.becomes(\.battery, nil, "upower")
        for (percent, isPresent) in [(80.4, true), (39.6, true), (120, true), (50, false)] {
            try bus.tell(
                .upower,
                """
                SetupDisplayDevice(2, dbus.UInt32(2), \(percent), 1.0, 2.0, 3.0, dbus.Int64(0),
                    dbus.Int64(0), \(isPresent ? "True" : "False"), 'i', dbus.UInt32(1))
                """)
            let expected = min(100, Int(percent.rounded()))
            watched.becomes(\.battery, isPresent ? expected : nil, "upower")
        }
        withExtendedLifetime(service) {}
    }

    @Test func whoAsksWaitsForTheAnswer() throws {
        let services = [try bus.service(.upower), try bus.service(.logind)]
        let watched = try Watched(snapshot, .power)
        #expect(watched.watch.read(within: 10).power.source == "upower")
        watched.watch.setInterest([.power, .idle])
        #expect(watched.watch.read(within: 10).isIdle.source == "logind")
        withExtendedLifetime(services) {}
    }

    // MARK: - NetworkManager

    @Test func noticesMeteringAndGoingOffline() throws {
        let service = try bus.service(.networkManager)
        let watched = try Watched(snapshot, .network)
        watched.becomes(\.network, .unmetered, "networkmanager")
        for (metered, expected) in [(1, NetworkState.metered), (2, .unmetered), (3, .metered)] {
            try bus.set(.networkManager, "Metered", "dbus.UInt32(\(metered))")
            watched.becomes(\.network, expected, "networkmanager")
        }
        try bus.tell(.networkManager, "SetGlobalConnectionState(dbus.UInt32(20))")
        watched.becomes(\.network, .offline, "networkmanager")
        try bus.tell(.networkManager, "SetGlobalConnectionState(dbus.UInt32(70))")
        watched.becomes(\.network, .metered, "networkmanager")
        // A captive portal.
        try bus.tell(.networkManager, "SetConnectivity(dbus.UInt32(2))")
        watched.becomes(\.network, .offline, "networkmanager")
        try bus.tell(.networkManager, "SetConnectivity(dbus.UInt32(4))")
        watched.becomes(\.network, .metered, "networkmanager")
        withExtendedLifetime(service) {}
    }

    // MARK: - logind

    @Test func noticesThatTheUserIsAwayAndBack() throws {
        let service = try bus.service(.logind)
        let watched = try Watched(snapshot, .idle)
        watched.becomes(\.isIdle, false, "logind")
        try bus.set(.logind, "IdleHint", "True")
        watched.becomes(\.isIdle, true, "logind")
        try bus.set(.logind, "IdleHint", "False")
        watched.becomes(\.isIdle, false, "logind")
        withExtendedLifetime(service) {}
    }

    @Test(arguments: ["PrepareForSleep", "PrepareForShutdown"])
    func theMachineWaitsUntilAllIsSaved(signal: String) throws {
        let service = try bus.service(.logind)
        let watched = try Watched(snapshot, .machineEvents)
        try eventually("the machine is asked to wait") { try bus.locks(1) }
        for round in 1...2 {
            try bus.announce(signal, true)
            var permit: DelayPermit?
            eventually(within: .seconds(2), "\(signal) is told, round \(round)") {
                for event in watched.takeEvents() {
                    switch event {
                    case .willSleep(let new) where signal == "PrepareForSleep": permit = new
                    case .willShutDown(let new) where signal == "PrepareForShutdown": permit = new
                    case .willSleep, .willShutDown, .didWake, .shutdownCancelled, .mounts,
                        .paths:
                        break
                    }
                }
                return permit != nil
            }
            #expect(try bus.locks(1))
            permit?.release()
            try eventually("the machine goes on") { try bus.locks(0) }
            try bus.announce(signal, false)
            eventually(within: .seconds(2), "the end of it is told, round \(round)") {
                watched.takeEvents().contains {
                    switch $0 {
                    case .didWake: signal == "PrepareForSleep"
                    case .shutdownCancelled: signal == "PrepareForShutdown"
                    case .willSleep, .willShutDown, .mounts, .paths: false
                    }
                }
            }
            try eventually("the machine is asked to wait again") { try bus.locks(1) }
        }
        watched.watch.setInterest(.idle)
        try eventually("who has nothing to save keeps nobody waiting") { try bus.locks(0) }
        withExtendedLifetime(service) {}
    }

    /// Triggers are told, and keep nothing waiting.
    @Test func aWakeIsToldWithoutADelay() throws {
        let service = try bus.service(.logind)
        let watched = try Watched(snapshot, .wakes)
        try eventually("a wake is told") {
            try bus.announce("PrepareForSleep", false)
            return watched.takeEvents().contains {
                if case .didWake = $0 { true } else { false }
            }
        }
        #expect(try bus.locks(0))
        withExtendedLifetime(service) {}
    }

    // MARK: - Coming and going

    @Test func aServiceMayDieAndComeBack() throws {
        var service = Optional(try bus.service(.upower, #"{"OnBattery": true}"#))
        let watched = try Watched(snapshot, .power)
        watched.becomes(\.power, .battery, "upower")
        service = nil
        watched.becomes(\.power, nil, "none")
        service = try bus.service(.upower)
        watched.becomes(\.power, .external, "upower")
        withExtendedLifetime(service) {}
    }

    @Test func aServiceThatDiesLeavesItToTheKernel() throws {
        let scratch = try Scratch()
        try PowerFixture(scratch.path("sys")).mains(online: 1)
        var service = Optional(try bus.service(.upower, #"{"OnBattery": true}"#))
        var snapshot = snapshot
        snapshot.sysfs = scratch.path("sys")
        let watched = try Watched(snapshot, .power)
        watched.becomes(\.power, .battery, "upower")
        service = nil
        watched.becomes(\.power, .external, "sysfs")
        _ = service
    }

    @Test func theBusItselfMayGoAndComeBack() throws {
        bus.stop()
        let watched = try Watched(snapshot, .power)
        watched.becomes(\.power, nil, "none")
        try bus.start()
        var service = Optional(try bus.service(.upower))
        watched.becomes(\.power, .external, "upower")
        bus.stop()
        watched.becomes(\.power, nil, "none")
        try bus.start()
        service = try bus.service(.upower, #"{"OnBattery": true}"#)
        watched.becomes(\.power, .battery, "upower")
        withExtendedLifetime(service) {}
    }

    @Test func aBusThatHangsHoldsNobodyUp() throws {
        bus.hang()
        let scratch = try Scratch()
        try PowerFixture(scratch.path("sys")).mains(online: 0).battery(40, "Discharging")
        var snapshot = snapshot
        snapshot.sysfs = scratch.path("sys")
        let watched = try Watched(snapshot, [.power, .battery])
        watched.becomes(\.power, .battery, "sysfs")
        #expect(watched.watch.read(within: 0.2).battery.value == 40)
        watched.watch.stop()
    }

    @Test func withNothingOfInterestNothingIsHeld() throws {
        let service = try bus.service(.logind)
        let watched = try Watched(snapshot, [])
        watched.watch.setInterest([.machineEvents, .idle])
        try eventually("the lock is taken") { try bus.locks(1) }
        watched.watch.setInterest([])
        try eventually("the lock is gone") { try bus.locks(0) }
        #expect(watched.watch.current == Conditions())
        withExtendedLifetime(service) {}
    }
}
