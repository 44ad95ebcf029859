import Foundation
import LonghaulTestSupport
import Testing

/// A machine that sleeps or shuts down waits until everything is saved: by the built command,
/// against logind's stand-in on a private bus.
@Suite(
    .timeLimit(.minutes(60)),
    .enabled(if: MockBus.isPossible, "skipped: needs dbus-daemon and python3-dbusmock"))
struct SleepTests {
    /// Moves, and is never done before it is told to go on.
    private static let file = "a.bin?size=24M&seed=6&etag=v1&rate=4M&stall=6M"

    private func transfer(_ home: LonghaulHome) async throws -> JSONValue {
        try #require(try await home.run("show", "1", "--json").rows.first)
    }

    /// The durable part of what was received, as the store has it.
    private func stored(_ home: LonghaulHome) async throws -> JSONValue {
        try #require(try await home.stored("SELECT * FROM fetch").first)
    }

    /// The end of the one range from 0 that one connection makes.
    private func durableEnd(_ fetch: JSONValue) throws -> Int {
        let text = try #require(fetch["durable"].string)
        try #require(text.hasPrefix("0-"), "\(text)")
        return try #require(Int(text.dropFirst(2)), "\(text)")
    }

    private func begin(
        _ home: LonghaulHome, _ server: LoopbackServer, _ bus: MockBus
    ) async throws -> CLIProcess {
        let asked = try await home.run(
            "enqueue", server.url(Self.file), "--connections", "1",
            "-o", home.file("a.bin"))
        #expect(asked.status == 0, "\(asked.errors)")
        let daemon = try home.start("daemon")
        try await eventually("the machine is asked to wait") { try bus.locks(1) }
        try await eventually("it moves") {
            try await transfer(home)["bytesDone"].int ?? 0 > 1 << 20
        }
        return daemon
    }

    @Test func everythingIsSavedBeforeTheMachineSleeps() async throws {
        let bus = try MockBus()
        let logind = try bus.service(.logind)
        let home = try LonghaulHome().with(["DBUS_SYSTEM_BUS_ADDRESS": bus.address])
        try await LoopbackServer.run { server in
            let daemon = try await begin(home, server, bus)
            for _ in 1...2 {
                try bus.announce("PrepareForSleep", true)
                try await eventually("the machine may sleep") { try bus.locks(0) }
                // As it was at that moment: nothing moves any more.
                let asleep = try await transfer(home)
                let fetch = try await stored(home)
                let size =
                    try FileManager.default.attributesOfItem(
                        atPath: try #require(fetch["partPath"].string))[.size] as? Int
                #expect(asleep["state"] == "waiting")
                let durable = try durableEnd(fetch)
                #expect(durable > 1 << 20)
                #expect(fetch["bytesFetched"].int == durable && size == durable)
                #expect(asleep["bytesDone"].int == durable)
                try await Task.sleep(for: .milliseconds(500))
                #expect(try await transfer(home)["bytesDone"].int == durable)

                try bus.announce("PrepareForSleep", false)
                try await eventually("it goes on after waking") {
                    try await transfer(home)["bytesDone"].int ?? 0 > durable + 1 << 20
                }
                try await eventually("the machine is asked to wait again") { try bus.locks(1) }
            }
            server.goOn()
            #expect(try await home.run("wait", "1").status == 0)
            #expect(try await transfer(home)["bytesFetched"].int == 24 << 20)
            #expect(server.log.count == 3)
            try await eventually("who has nothing to save keeps nobody waiting") {
                try bus.locks(0)
            }
            #expect(daemon.errors.contains("the machine goes to sleep"))
            daemon.send(SIGTERM)
            #expect(try await daemon.wait().status == 0)
        }
        withExtendedLifetime(logind) {}
    }

    @Test func everythingIsSavedBeforeTheMachineShutsDown() async throws {
        let bus = try MockBus()
        let logind = try bus.service(.logind)
        let home = try LonghaulHome().with(["DBUS_SYSTEM_BUS_ADDRESS": bus.address])
        try await LoopbackServer.run { server in
            let daemon = try await begin(home, server, bus)
            try bus.announce("PrepareForShutdown", true)
            try await eventually("the machine may go down") { try bus.locks(0) }
            let fetch = try await stored(home)
            let durable = try durableEnd(fetch)
            #expect(durable > 1 << 20 && fetch["bytesFetched"].int == durable)
            #expect(try await daemon.wait().status == 0)
            server.goOn()
            #expect(try await home.run("run").status == 0)
            #expect(try await transfer(home)["bytesFetched"].int == 24 << 20)
        }
        withExtendedLifetime(logind) {}
    }
}
