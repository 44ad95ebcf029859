import Foundation
import LonghaulTestSupport
import Testing

/// A download on the wire while the machine changes around it: what takes its condition away stops
/// it within two seconds, what gives it back starts it again, and no byte is asked for twice.
@Suite(
    .serialized, .timeLimit(.minutes(60)),
    .enabled(if: OwnMachine.isPossible, "skipped: needs root, ip and network namespaces"))
struct MachineTests {
    /// Moves, and is not done before its third request.
    private static let file = "a.bin?size=24M&seed=3&etag=v1&rate=8M&stall=6M&stalls=2"

    struct Desktop: CustomTestStringConvertible, Sendable {
        var what: String
        var reason: String
        /// As it is required; `nil` = by the same word.
        var need: String?
        var service: MockBus.Service
        var parameters = "{}"
        var property: String
        var bad: String
        var good: String
        /// A call of the stand-in instead of a property.
        var isCall = false

        var testDescription: String { what }
    }

    static let desktops = [
        Desktop(
            what: "unplugged", reason: "power", service: .upower, property: "OnBattery",
            bad: "True", good: "False"),
        Desktop(
            what: "metered", reason: "unmetered", service: .networkManager,
            parameters: #"{"State": 70, "Connectivity": 4}"#, property: "Metered",
            bad: "dbus.UInt32(1)", good: "dbus.UInt32(2)"),
        Desktop(
            what: "offline", reason: "network", service: .networkManager,
            parameters: #"{"State": 70, "Connectivity": 4}"#,
            property: "SetGlobalConnectionState", bad: "dbus.UInt32(20)", good: "dbus.UInt32(70)",
            isCall: true),
        Desktop(
            what: "saving power", reason: "saver", need: "saver=off", service: .powerProfiles,
            property: "ActiveProfile", bad: "'power-saver'", good: "'balanced'"),
        Desktop(
            what: "in use", reason: "idle", service: .logind, property: "IdleHint", bad: "False",
            good: "True"),
    ]

    @Test(
        .enabled(if: MockBus.isPossible, "skipped: needs dbus-daemon and python3-dbusmock"),
        arguments: desktops)
    func theDesktopSaysSo(_ row: Desktop) async throws {
        let machine = try OwnMachine()
        let bus = try MockBus()
        let service = try bus.service(row.service, row.parameters)
        func say(_ value: String) throws {
            if row.isCall {
                try bus.tell(row.service, "\(row.property)(\(value))")
            } else {
                try bus.set(row.service, row.property, value)
            }
        }
        try say(row.good)
        let home = try LonghaulHome().with(["DBUS_SYSTEM_BUS_ADDRESS": bus.address])
            .through(machine.launcher())
        let server = try await RemoteServer.start(on: machine)
        try await stopsAndGoesOn(
            home, server, ["--require", row.need ?? row.reason], reason: row.reason,
            bad: { try say(row.bad) }, good: { try say(row.good) })
        withExtendedLifetime(service) {}
    }

    /// A look-up cannot be stopped: nobody waits for its end, which takes half a minute here.
    @Test func nameServersThatDoNotAnswer() async throws {
        let machine = try OwnMachine()
        let settings = "/etc/netns/\(machine.name)"
        try FileManager.default.createDirectory(
            atPath: settings, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: settings) }
        try Data("nameserver 127.0.0.1\noptions timeout:30 attempts:1\n".utf8)
            .write(to: URL(fileURLWithPath: settings + "/resolv.conf"))
        let words = machine.launcher() + ["/usr/bin/python3", "-u", "-c", Self.silentNameServer]
        let names = try CLIProcess(words[0], Array(words.dropFirst()))
        defer { names.send(SIGKILL) }
        try await names.waitForOutput("ready")
        let other = try OwnMachine()
        try machine.cable("10.91.0.1/24", to: other, "10.91.0.2/24")
        try machine.ip("route", "add", "default", "via", "10.91.0.2")
        let home = try LonghaulHome().through(machine.launcher())
        let get = try home.start("get", "http://somewhere.test/f")
        try await names.waitForOutput("asked")
        get.send(SIGINT)
        #expect(try await get.wait(within: .seconds(10)).status == 130)
    }

    private static let silentNameServer = """
        import socket
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.bind(("127.0.0.1", 53))
        print("ready")
        while True:
            s.recvfrom(2000)
            print("asked")
        """

    /// Power as the kernel has it, and nobody else: told of, or, in a container, looked at.
    @Test(
        .enabled(
            if: OwnMachine.hasPowerSupplies, "skipped: there is no /sys/class/power_supply"),
        arguments: [false, true])
    func theKernelsPowerSupplies(isContained: Bool) async throws {
        let machine = try OwnMachine()
        let scratch = try Scratch("power")
        let supplies = try PowerFixture(scratch("sys"))
        func say(online: Int) throws {
            try supplies.mains(online: online)
                .battery(60, online == 0 ? "Discharging" : "Charging")
            if !isContained { try machine.announcePowerSupply() }
        }
        try say(online: 1)
        let launcher = machine.launcher(supplies: supplies, isContained: isContained)
        let home = try noBus().through(launcher)
        let server = try await RemoteServer.start(on: machine)
        try await stopsAndGoesOn(
            home, server, ["--require", "power"], reason: "power",
            bad: { try say(online: 0) }, good: { try say(online: 1) })
    }

    /// Whoever sits at a terminal, which no service keeps track of. The five minutes after which
    /// they are away are over sooner here, for their last key is said to be older than it is; the
    /// moment itself is waited for.
    @Test(
        .enabled(if: TerminalFixture.isPossible, "skipped: may not mount terminals of its own"))
    func somebodyTypes() async throws {
        let machine = try OwnMachine()
        let terminals = try TerminalFixture()
        try terminals.date(back: 400)
        let home = try noBus().through(machine.launcher(terminals: terminals))
        let server = try await RemoteServer.start(on: machine)
        var rounds = 0
        try await stopsAndGoesOn(
            home, server, ["--require", "idle"], reason: "idle", settling: .seconds(2),
            bad: { try terminals.type() },
            good: {
                try terminals.date(back: 298)
                rounds += 1
                // Who waits sleeps until the old moment, unless there is something new.
                let changed = try await home.run("set", "1", "--meta", "\(rounds)")
                #expect(changed.status == 0, "\(changed.errors)")
            })
    }

    /// The cable to the server is pulled. What comes back counts after it has stayed for five
    /// seconds.
    @Test func theKernelsNetwork() async throws {
        let machine = try OwnMachine()
        let far = try OwnMachine()
        try machine.cable("192.0.2.5/24", to: far, "192.0.2.1/24")
        let home = try noBus().through(machine.launcher())
        let server = try await RemoteServer.start(on: far, address: "192.0.2.1")
        try await stopsAndGoesOn(
            home, server, [], reason: "network", settling: .seconds(5),
            bad: { try machine.ip("link", "set", "eth0", "down") },
            good: { try machine.ip("link", "set", "eth0", "up") })
    }

    /// The same cable, and never without a network: what was sent to the old address never comes,
    /// and nobody says so. The usual stall timeout would be 60 s.
    @Test(
        arguments: [
            (["192.0.2.5/24", "192.0.2.7/25"], "192.0.2.1", 24),
            (["2001:db8::5/64", "2001:db8::7/65"], "2001:db8::1", 64),
        ])
    func anotherAddressOnTheSameLink(
        addresses: [String], there: String, length: Int
    ) async throws {
        var addresses = addresses
        let machine = try OwnMachine()
        let far = try OwnMachine()
        try machine.cable(addresses[0], to: far, "\(there)/\(length)")
        let home = try noBus().through(machine.launcher())
        let server = try await RemoteServer.start(on: far, address: there)
        let url = server.url(Self.file)
        let get = try home.start(
            "get", url, "-q", "-o", home.file("a.bin"), "--connections", "1")
        let watched = Sightings(home)
        for round in 1...2 {
            try await watched.moves()
            try machine.add(addresses[1])
            try machine.ip("address", "delete", addresses[0], "dev", "eth0")
            addresses.swapAt(0, 1)
            let kept = watched.done
            try await eventually(
                within: .seconds(15), "round \(round) goes on: \(watched.last)"
            ) { try await watched.look() == "running" && watched.done > kept + 1 << 19 }
        }
        #expect(try await get.wait().status == 0)
        try await endedWell(home, watched, try server.expected(url))
    }

    private func noBus() throws -> LonghaulHome {
        let home = try LonghaulHome()
        return home.with(["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(home.scratch("no-bus"))"])
    }

    // MARK: -

    private static let limit = Duration.seconds(2)

    private func stopsAndGoesOn(
        _ home: LonghaulHome, _ server: RemoteServer, _ options: [String], reason: String,
        settling: Duration = .zero, bad: () throws -> Void, good: () async throws -> Void
    ) async throws {
        let url = server.url(Self.file)
        let enqueued = try await home.start(
            // A second connection, which a slow one is given, would be one request more.
            ["enqueue", url, "-o", home.file("a.bin"), "--connections", "1"] + options
        ).wait()
        #expect(enqueued.status == 0, "\(enqueued.errors)")
        let engine = try home.start("daemon")
        let watched = Sightings(home)
        for round in 1...2 {
            try await watched.moves()
            try bad()
            try await eventually(within: Self.limit, "round \(round) stops: \(watched.last)") {
                try await watched.look() == "waiting"
            }
            #expect(watched.last["waitingFor"].items.first?["reason"] == .string(reason))
            let kept = watched.done
            try await good()
            try await eventually(
                within: settling + Self.limit, "round \(round) goes on: \(watched.last)"
            ) { try await watched.look() != "waiting" && watched.done > kept }
        }
        #expect(try await home.run("wait", "1").status == 0)
        let expected = try server.expected(url)
        try await endedWell(home, watched, expected)
        try await asksForNoByteTwice(server, received: expected.size)
        engine.send(SIGTERM)
        #expect(try await engine.wait().status == 0)
    }

    /// The file is right, and no byte of it was received twice.
    private func endedWell(
        _ home: LonghaulHome, _ watched: Sightings, _ expected: Representation
    ) async throws {
        try expected.verify(file: home.file("a.bin"))
        _ = try await watched.look()
        #expect(watched.neverWentDown)
        #expect(watched.last["bytesFetched"].int == expected.size)
        #expect(watched.last["restarts"] == 0)
    }

    /// Each request begins where the one before had come to, which what it was sent shows: what
    /// was still on the way when it was ended may be sent again.
    private func asksForNoByteTwice(_ server: RemoteServer, received: Int) async throws {
        try await eventually("three requests have ended") { try server.log.count == 3 }
        let log = try server.log
        #expect(log.map { $0["status"].int } == [200, 206, 206])
        let starts = log.map { entry -> Int in
            let range = entry["headers"].items.first { $0.items.first?.string == "Range" }
            let digits = range?.items.last?.string?.dropFirst("bytes=".count).dropLast()
            return digits.flatMap { Int($0) } ?? 0
        }
        #expect(starts == starts.sorted() && Set(starts).count == 3, "\(starts)")
        for (entry, next) in zip(log, starts.dropFirst() + [received]) {
            let start = starts[entry["number"].int ?? 0]
            #expect(start + (entry["bodyBytesSent"].int ?? 0) >= next, "\(starts) \(entry)")
        }
    }
}

/// What `show` says of transfer 1, each time it is asked.
private final class Sightings {
    private let home: LonghaulHome
    private(set) var last: JSONValue = .null
    private(set) var neverWentDown = true
    var done: Int { last["bytesDone"].int ?? 0 }

    init(_ home: LonghaulHome) { self.home = home }

    /// Waits until it runs, and a MiB has come.
    func moves() async throws {
        let before = done
        try await eventually("it moves: \(last)") {
            try await look() == "running" && done > before + 1 << 20
        }
    }

    /// The state.
    func look() async throws -> String? {
        let before = done
        last = try #require(try await home.run("show", "1", "--json").rows.first)
        if done < before { neverWentDown = false }
        return last["state"].string
    }
}
