import Foundation
import LonghaulCore
import LonghaulTestSupport
import Testing

/// `docs/why.md` shows each kind of wait as the built command tells it, as text and as JSON.
@Suite(.timeLimit(.minutes(60))) struct WhyPageTests {
    private static let page = ConsolePage(path: "docs/why.md")

    /// Mounting a tmpfs needs root.
    private static let possible = WhyScene.all.filter { !$0.needsRoot || geteuid() == 0 }

    @Test(arguments: possible) func isAsOnThePage(_ scene: WhyScene) async throws {
        let stage = try WhyStage()
        try await LoopbackServer.run { server in
            stage.server = server
            try await scene.play(stage)
            let said = try await stage.why(scene.id, until: scene.reasons)
            try Self.page.check(said.text, of: "longhaul why \(scene.id)", under: scene.title)
            try Self.page.check(
                said.json, of: "longhaul why \(scene.id) --json", under: scene.title)
            try await stage.end()
        }
    }

    /// Nothing that can hold a transfer is left out, and the page shows no more than is tried.
    @Test func thePageIsWhole() throws {
        let shown = try Self.page.answers(to: "longhaul why").filter { $0.hasPrefix("{") }
            .map { try JSONValue($0) }
        let reasons = shown.flatMap { $0["waitingFor"].items }.compactMap { $0["reason"].string }
        // These are of background tasks alone.
        let all = Set(WaitReason.Reason.allCases)
            .subtracting([.host, .trigger, .transfers, .budget, .slot])
        #expect(Set(reasons) == Set(all.map(\.rawValue)))
        for wait in shown {
            #expect(wait.keys == ["id", "state", "waitingFor", "error", "forecast"])
            #expect(wait["forecast"].keys == ["startsAt", "endsAt", "text"])
            for reason in wait["waitingFor"].items {
                #expect(
                    reason.keys == ["reason", "required", "current", "since", "nextCheck"])
            }
        }
        #expect(try Self.page.headings("##") == WhyScene.all.map(\.title))
        #expect(shown.count == WhyScene.all.count)
    }
}

/// A queue, a server and engines for one scene.
final class WhyStage {
    private(set) var home: LonghaulHome
    var server: LoopbackServer?
    private var engines: [CLIProcess] = []
    /// Kept as long as the scene lasts.
    var disk: OwnDisk?

    init() throws {
        home = try LonghaulHome()
    }

    func url(_ nameAndKnobs: String) throws -> String {
        try #require(server).url(nameAndKnobs)
    }

    @discardableResult
    func run(_ arguments: String..., status: Int32 = 0) async throws -> CLIProcess.Result {
        let result = try await home.start(arguments).wait()
        #expect(result.status == status, "\(arguments): \(result.errors)")
        return result
    }

    func enqueue(_ url: String, _ options: String...) async throws {
        let name = url.prefix { $0 != "?" }.split(separator: "/").last ?? ""
        let asked = ["enqueue", url, "-o", home.file(String(name))] + options
        let result = try await home.start(asked).wait()
        #expect(result.status == 0, "\(result.errors)")
    }

    func engine(_ arguments: String...) throws {
        engines.append(try home.start(arguments.isEmpty ? ["daemon"] : arguments))
    }

    func configure(_ json: String) throws {
        home = home.with(["LONGHAUL_CONFIG": try home.scratch.write(json, to: "config.json")])
    }

    func state(_ id: Int) async throws -> String? {
        try await run("show", "\(id)", "--json").rows.first?["state"].string
    }

    func becomes(_ id: Int, _ state: String) async throws {
        try await eventually("\(id) is \(state)") {
            try await self.state(id) == state
        }
    }

    /// What `why` says once it waits for nothing but these, in words and as JSON.
    func why(_ id: Int, until reasons: [String]) async throws -> (text: String, json: String) {
        var said = (text: "", json: "")
        try await eventually(within: .seconds(100), "it waits for \(reasons)") {
            said.json = try await run("why", "\(id)", "--json").output
            let waits = try JSONValue(said.json)["waitingFor"].items
            guard waits.compactMap({ $0["reason"].string }) == reasons else { return false }
            // An engine that has just begun has not looked at a condition yet.
            guard waits.allSatisfy({ $0["reason"] == "engine" || $0["since"] != .null })
            else { return false }
            said.text = try await run("why", "\(id)").output
            // Between the two looks an attempt may have begun.
            return reasons.allSatisfy { said.text.contains("\n  \($0) ") }
        }
        return said
    }

    func end() async throws {
        for engine in engines {
            engine.send(SIGTERM)
            _ = try await engine.wait()
        }
        engines = []
        disk?.unmount()
    }
}
