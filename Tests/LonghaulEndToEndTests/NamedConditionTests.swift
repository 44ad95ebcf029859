import Foundation
import LonghaulTestSupport
import Testing

/// Networks, file systems and paths by name, with the built command.
@Suite(.timeLimit(.minutes(60))) struct NamedConditionTests {
    /// The events of the task's line, as the host got them.
    private static let body = """
        jq -c --unbuffered 'select(.type == "task") | .trigger.events' >> "$D/fired"
        exit 0
        """

    private func submit(_ hosts: HostHome, _ arguments: String...) async throws {
        try await hosts.add("--permit", "sync", body: Self.body)
        try await hosts.run(["task", "submit", "sync"] + arguments + ["--no-start"])
    }

    private func isKnown(_ text: String, to home: LonghaulHome) async throws {
        try await eventually("the world is known") {
            let world = try await home.stored("SELECT value FROM setting WHERE key = 'world'")
            return world.first?["value"].string?.contains(text) ?? false
        }
    }

    @Test(.enabled(if: OwnDisk.hasLoops, "skipped: no loop devices"))
    func aTransferWaitsForItsFileSystem() async throws {
        let home = try LonghaulHome()
        let place = home.scratch("disk")
        let label = "lh\(UInt16.random(in: 1000...9999))"
        try await LoopbackServer.run { server in
            let url = server.url("f.bin?size=10K")
            for (name, need) in [("a", "mounted=\(label),mounted=\(place)"), ("b", "none")] {
                let result = try await home.run(
                    "enqueue", "--require", need, "--no-start", "-o", name, url)
                #expect(result.status == 0, "\(result.errors)")
            }
            let engine = try home.start("daemon")
            func state(_ id: String) async throws -> JSONValue {
                try await home.run("show", id, "--json").rows[0]
            }
            // The equal transfer without the need does not take it along.
            try await eventually("the other one completes") {
                try await state("2")["state"] == "completed"
            }
            let wait = try await state("1")["waitingFor"][0]
            #expect(wait["reason"] == "mounted" && wait["current"] == "not mounted")
            let why = try await home.run("why", "1").output
            #expect(why.contains("needs \(place),\(label) mounted; not mounted"), "\(why)")
            let disk = try OwnDisk("ext4", label: label, at: place)
            try await eventually("it completes") {
                try await state("1")["state"] == "completed"
            }
            engine.send(SIGTERM)
            #expect(try await engine.wait().status == 0)
            disk.unmount()
        }
    }

    @Test(.enabled(if: OwnDisk.hasLoops, "skipped: no loop devices"))
    func aFileSystemIsMounted() async throws {
        let home = try LonghaulHome()
        let hosts = HostHome(home)
        let label = "lh\(UInt16.random(in: 1000...9999))"
        try await submit(hosts, "--on", "mount=\(label)")
        let engine = try home.start("daemon")
        try await isKnown(label, to: home)
        let place = home.scratch("disk")
        var disk: OwnDisk? = try OwnDisk("ext4", label: label, at: place)
        let event = #"[{"event":"mount","name":"\#(label)","path":"\#(place)"}]"#
        try await eventually(within: .seconds(30), "the host is launched") {
            hosts.lines("fired") == [event]
        }
        engine.send(SIGTERM)
        #expect(try await engine.wait().status == 0)
        disk?.unmount()
        disk = nil
    }

    /// What is complete is seen by the next engine, whatever the last one was doing.
    @Test func aFileThatSettlesSurvivesAKill() async throws {
        let home = try LonghaulHome()
        let hosts = HostHome(home)
        let place = home.scratch("in")
        try FileManager.default.createDirectory(
            atPath: place, withIntermediateDirectories: true)
        try "old".write(toFile: "\(place)/old", atomically: true, encoding: .utf8)
        try await submit(hosts, "--on", "path=\(place)", "--settle", "3s")
        let first = try home.start("daemon")
        try await isKnown("path=\(place)", to: home)
        try "new".write(toFile: "\(place)/new", atomically: true, encoding: .utf8)
        try "gone".write(toFile: "\(place)/gone", atomically: true, encoding: .utf8)
        try await Task.sleep(for: .milliseconds(1_500))
        first.send(SIGKILL)
        _ = try await first.wait()
        try FileManager.default.removeItem(atPath: "\(place)/gone")
        #expect(hosts.lines("fired").isEmpty)
        let second = try home.start("daemon")
        let event = #"[{"event":"path","name":"\#(place)","files":["\#(place)/new"]}]"#
        try await eventually(within: .seconds(30), "the host is launched") {
            hosts.lines("fired") == [event]
        }
        second.send(SIGTERM)
        #expect(try await second.wait().status == 0)
    }

    @Test(.enabled(if: OwnMachine.isPossible, "skipped: needs root, ip and network namespaces"))
    func aNetworkHasAName() async throws {
        let machine = try OwnMachine()
        let gateways = [try OwnMachine(), try OwnMachine()]
        func plug(into number: Int) throws {
            try machine.cable("192.0.2.5/24", to: gateways[number], "192.0.2.1/24")
            try gateways[number].ip("link", "set", "eth0", "address", "02:00:00:00:00:0\(number)")
        }
        try plug(into: 0)
        let home = try LonghaulHome()
        let alone = home.with(["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(home.scratch("no-bus"))"])
            .through(machine.launcher())
        let refused = try await alone.run("network", "name", "home")
        #expect(refused.status == 5)
        try machine.ip("route", "add", "default", "via", "192.0.2.1")
        let named = try await alone.run("network", "name", "home", "--json").rows
        #expect(named.first?["current"] == true && named.first?["prefixes"][0] == "192.0.2.0/24")
        let shown = try await alone.run("conditions", "--json").rows
        #expect(shown.first { $0["condition"] == "network" }?["name"] == "home")

        // The same addresses at another place.
        try machine.ip("link", "delete", "eth0")
        try plug(into: 1)
        try machine.ip("route", "add", "default", "via", "192.0.2.1")
        let hosts = HostHome(alone)
        try await submit(hosts, "--on", "network=home")
        #expect(
            try await alone.run(
                "enqueue", "--require", "network=home", "--no-start", "http://192.0.2.9/x"
            ).status == 0)
        let engine = try alone.start("daemon")
        try await eventually("it waits for the network") {
            try await alone.run("why", "1").output.contains("needs network home; on a network")
        }
        try await isKnown("names", to: alone)
        try machine.ip("link", "delete", "eth0")
        try plug(into: 0)
        try machine.ip("route", "add", "default", "via", "192.0.2.1")
        try await eventually(within: .seconds(30), "the host is launched") {
            hosts.lines("fired") == [#"[{"event":"network","name":"home"}]"#]
        }
        try await eventually("the transfer begins") {
            let why = try await alone.run("show", "1", "--json").rows[0]
            return why["attempts"].int ?? 0 > 0
        }
        #expect(try await alone.run("network", "forget", "home").status == 0)
        #expect(try await alone.run("network", "list", "--json").rows.isEmpty)
        #expect(try await alone.run("network", "forget", "home").status == 5)
        engine.send(SIGTERM)
        #expect(try await engine.wait().status == 0)
    }

    /// Overrides stand for the machine.
    @Test func overridesHaveNames() async throws {
        let home = try LonghaulHome()
        let hosts = HostHome(home)
        try await hosts.run(["conditions", "--set", "network=unmetered:office,mounted=none"])
        try await submit(hosts, "--on", "network=home,mount=backup")
        let engine = try home.start("daemon")
        try await isKnown("office", to: home)
        try await hosts.run(["conditions", "--set", "network=unmetered:home,mounted=backup,x"])
        try await eventually(within: .seconds(30), "the host is launched") {
            let fired = hosts.lines("fired").joined()
            return fired.contains(#""name":"home""#) && fired.contains(#""name":"backup""#)
        }
        engine.send(SIGTERM)
        #expect(try await engine.wait().status == 0)
    }
}
