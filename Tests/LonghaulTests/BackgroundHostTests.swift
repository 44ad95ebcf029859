import Foundation
import LonghaulStore
import LonghaulTestSupport
import Testing

@testable import Longhaul

/// A host in Swift, launched by an engine in this process.
@Suite(.timeLimit(.minutes(60))) struct BackgroundHostTests {
    private let home: SessionHome
    private let queue: TransferQueue
    private static let host = "com.example.host"
    private static let permitted = [
        "good", "bad", "later", "nothing", "slow", "careful", "unknown",
    ]

    init() throws {
        home = try SessionHome()
        queue = try TransferQueue(directory: home.store)
    }

    private func add(_ kind: String = "host") throws {
        var settings = HostSettings(
            argv: [try BuiltBinary.named("LonghaulTestSession"), home.scratch("log"), kind],
            permitted: Self.permitted)
        settings.taskBudget = 120
        try queue.add(host: Self.host, settings)
    }

    private func submit(_ identifier: String, _ kind: TaskKind = .processing) throws {
        var request = TaskRequest(identifier: identifier, kind: kind, host: Self.host)
        request.payload = #"{"keep":1}"#
        try queue.tasks.submit(request)
    }

    /// What the host has done, in any order.
    private var said: [String] {
        let text = (try? home.scratch.text(of: "log")) ?? ""
        return text.split(separator: "\n").map(String.init).sorted()
    }

    private func firstLaunch() throws -> LaunchRecord? {
        try queue.host(Self.host)?.launches.last
    }

    private func run(_ identifier: String) throws -> TaskRun? {
        try queue.tasks.find(identifier, host: Self.host)?.runs.last
    }

    /// An engine for the time of `body`.
    private func withEngine(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let session = try await home.session("engine", .inProcess)
        do {
            try await within { try await body() }
            try await session.invalidate()
        } catch {
            try? await session.invalidate()
            throw error
        }
    }

    private func untilTheFirstLaunchEnds() async throws {
        try await eventually("\(said)") { try firstLaunch()?.endedAt != nil }
    }

    @Test func oneLaunchCarriesAll() async throws {
        try add()
        try submit("good", .refresh)
        for identifier in ["bad", "later", "nothing", "unknown"] { try submit(identifier) }
        try queue.tasks.wake(
            host: Self.host, WakeUp(identifier: "ring", payload: #"{"a":1}"#, isUrgent: true))
        try queue.giveUpTransfer(of: Self.host, to: home.file("a"))
        try await withEngine { try await untilTheFirstLaunchEnds() }

        let launch = try #require(try firstLaunch())
        #expect(launch.ending == .exited)
        #expect(launch.status == 0, "\(launch.output ?? "")")
        #expect(
            said.filter { !$0.hasPrefix("later") } == [
                "events s transferCancelled,sessionFinished", #"good refresh 1 {"keep":1}"#,
                #"ring {"a":1}"#,
            ])
        let results = try ["good", "bad", "later", "nothing", "unknown"].map {
            try run($0)?.result
        }
        #expect(results == [.success, .failure, .deferred, .noData, .failure])
        #expect(launch.output?.contains("no handler is registered for the task unknown") == true)
        #expect(try queue.events(after: 0, waitingOnly: true).isEmpty)
        // What failed waits for its back-off.
        #expect(try queue.tasks.find("bad")?.failures == 1)
        #expect(try queue.tasks.find("good")?.state == .done)
    }

    @Test func aWakeUpThatFailsComesAgain() async throws {
        try add()
        try queue.tasks.wake(
            host: Self.host,
            WakeUp(identifier: "ring", payload: #"{"fails":true}"#, isUrgent: true))
        try await withEngine { try await untilTheFirstLaunchEnds() }
        let launch = try #require(try firstLaunch())
        #expect(launch.ending == .exited)
        #expect(launch.status == 1)
        #expect(launch.output?.contains("the wake-up ring failed") == true)
        #expect(said.first == #"ring {"fails":true}"#)
    }

    @Test(arguments: ["host", "registered"])
    func expirationCancelsAndIsNoResult(kind: String) async throws {
        try add(kind)
        try submit("good", .refresh)
        try submit("slow")
        try await withEngine {
            try await eventually { said.contains("slow begins") }
            try await eventually { try run("good")?.result == .success }
            try queue.tasks.simulateExpiration(of: "slow", host: Self.host)
            try await untilTheFirstLaunchEnds()
        }
        let launch = try #require(try firstLaunch())
        #expect(launch.ending == .expired)
        #expect(launch.expiration == .simulated)
        #expect(launch.status == 1, "\(launch.output ?? "")")
        #expect(said.contains("slow ends 0.0"))
        let slow = try #require(try run("slow"))
        #expect(slow.result == nil)
        #expect(slow.expiration == .simulated)
        #expect(try run("good")?.result == .success)
        #expect(try queue.tasks.find("slow")?.failures == 1)
    }

    @Test func anExpirationIsToldBeforeTheHandlerIsOver() async throws {
        try add()
        try submit("careful")
        try await withEngine {
            try await eventually { said.contains("careful begins") }
            try queue.tasks.simulateExpiration(of: "careful", host: Self.host)
            try await untilTheFirstLaunchEnds()
        }
        // It may have begun again.
        #expect(said.contains("careful time"))
        #expect(try run("careful")?.result == .deferred)
    }

    @Test func aRequirementThatIsLostIsTold() async throws {
        try add()
        try queue.keepOverride(try ConditionOverride(parsing: "power=external"))
        var request = TaskRequest(identifier: "careful", kind: .processing, host: Self.host)
        request.requirements.power = true
        request.expiresWhenRequirementIsLost = false
        try queue.tasks.submit(request)
        try await withEngine {
            try await eventually { said.contains("careful begins") }
            try queue.keepOverride(try ConditionOverride(parsing: "power=battery"))
            try await untilTheFirstLaunchEnds()
        }
        #expect(said == ["careful begins", "careful requirement"])
        #expect(try run("careful")?.result == .deferred)
        let waits = try queue.tasks.find("careful")?.waitingFor ?? []
        #expect(waits.contains { $0.reason == .power })
    }

    @Test func registeredHandlersTellTheirResults() async throws {
        try add("registered")
        try submit("good", .refresh)
        try submit("bad")
        try await withEngine { try await untilTheFirstLaunchEnds() }
        #expect(try firstLaunch()?.status == 0)
        #expect(try run("good")?.result == .success)
        #expect(try run("bad")?.result == .failure)
        #expect(said == ["good"])
    }

    /// A refresh that repeats waits for the hours in which its host is used, unless its launch was
    /// asked for.
    @Test func aRefreshOfAnUnusedHostIsHeld() async throws {
        try add()
        // Made known, and last used, long ago.
        let past = queue.now + -20 * 86_400
        try queue.store.hosts.add(
            "com.example.old",
            HostSettings(
                argv: [try BuiltBinary.named("LonghaulTestSession"), home.scratch("log"), "host"],
                permitted: ["good"]), now: past)
        var request = TaskRequest(identifier: "good", host: "com.example.old")
        request.earliestBegin = queue.now
        let waiting = try queue.tasks.submit(request)
        let held = waiting.waitingFor.first { $0.reason == .earliestBegin }?.nextCheck
        #expect(try #require(held) - queue.now > 86_000)
        #expect(waiting.forecast.text.contains("its host has not been used since"))
        try submit("nothing")
        try await withEngine {
            try await eventually { try run("nothing")?.endedAt != nil }
            #expect(try queue.tasks.find("good", host: "com.example.old")?.runs.isEmpty == true)
            try queue.tasks.simulateLaunch(of: "good", host: "com.example.old")
            try await eventually {
                try queue.tasks.find("good", host: "com.example.old")?.runs.first?.endedAt != nil
            }
        }
    }
}

/// The sample: follows a feed, is launched to refresh it, and has its files downloaded.
@Suite(.timeLimit(.minutes(60))) struct FeedReaderTests {
    @Test(.enabled(if: NginxServer.isInstalled, "skipped: no nginx or no openssl"))
    func episodesArriveWhileItDoesNotRun() async throws {
        let home = try LonghaulHome().with([
            "LONGHAUL_CONDITIONS": "power=external,network=unmetered,idle=yes"
        ])
        let server = try await NginxServer.start()
        let address = "http://127.0.0.1:\(server.httpPort)"
        let feed = """
            <rss><channel><title>Feed</title>
            <item><title><![CDATA[Rivers & lakes]]></title><guid isPermaLink="false">2</guid>
            <enclosure url="\(address)/2.mp3?a=1&amp;b=2" length="5" type="audio/mpeg"/></item>
            <item><title>Mountains &amp; hills</title>
            <enclosure length="5" url='\(address)/1.mp3'/></item>
            <item><title>No file</title></item>
            </channel></rss>
            """
        for (name, text) in ["feed.xml": feed, "1.mp3": "first", "2.mp3": "other"] {
            try Data(text.utf8).write(to: URL(filePath: "\(server.root)/\(name)"))
        }
        let daemon = try home.start("daemon")
        let directory = home.file("feeds")
        let reader = try BuiltBinary.named("feedreader")
        func run(_ arguments: String...) async throws -> String {
            let result = try await CLIProcess(reader, arguments, environment: home.environment)
                .wait()
            #expect(result.status == 0, "\(result.errors)")
            return result.output
        }
        _ = try await run("subscribe", directory, "\(address)/feed.xml")
        try await eventually("\(daemon.errors)") {
            try await run("list", directory) == "1.mp3 Mountains & hills\n2.mp3 Rivers & lakes\n"
        }
        #expect(try home.scratch.text(of: "files/feeds/enclosures/1.mp3") == "first")
        let tasks = try TransferQueue(directory: home.state).tasks.all()
        #expect(tasks.map(\.request.identifier) == ["clean", "refresh"])
        daemon.send(SIGTERM)
        try await daemon.wait()
    }
}

/// The sample as a program that runs all day.
@Suite(.timeLimit(.minutes(60))) struct StayingFeedReaderTests {
    private struct Reader {
        let home: LonghaulHome
        let server: LoopbackServer
        let daemon: CLIProcess
        let stay: CLIProcess
        var directory: String { home.file("feeds") }

        init() async throws {
            home = try LonghaulHome().with([
                "LONGHAUL_CONDITIONS": "power=external,network=unmetered,idle=no"
            ])
            server = try await LoopbackServer.start()
            daemon = try home.start("daemon")
            stay = try CLIProcess(
                try BuiltBinary.named("feedreader"), ["--stay", home.file("feeds")],
                environment: home.environment)
        }

        private var queue: TransferQueue { get throws { try TransferQueue(directory: home.state) } }

        func launches() throws -> [LaunchRecord] {
            guard FileManager.default.fileExists(atPath: home.state) else { return [] }
            return try queue.host("com.example.feedreader")?.launches ?? []
        }

        func runs(of task: String = "refresh") throws -> [TaskRun] {
            try queue.tasks.find(task, host: "com.example.feedreader")?.runs ?? []
        }

        func run(_ arguments: String...) async throws {
            let result = try await home.start(arguments).wait()
            #expect(result.status == 0, "\(result.errors)")
        }

        /// A feed whose answer takes so long.
        func subscribe(delay: Int) async throws {
            let result = try await CLIProcess(
                try BuiltBinary.named("feedreader"),
                ["subscribe", directory, server.url("feed.xml?size=100&delay=\(delay)")],
                environment: home.environment
            ).wait()
            #expect(result.status == 0, "\(result.errors)")
        }
    }

    @Test func whatIsDueComesToItsProcessAsLongAsItRuns() async throws {
        let reader = try await Reader()
        let pid = reader.stay.pid
        try await eventually("\(reader.stay.errors)") {
            try reader.runs().contains { $0.result == .noData }
        }
        // Both may come in one launch, or one after the other.
        try await eventually("the first tasks have ended") {
            try reader.runs(of: "clean").contains { $0.endedAt != nil }
                && reader.launches().allSatisfy { $0.endedAt != nil }
        }
        for option in [["--urgent"], []] {
            let count = try reader.launches().count
            let wake = ["wake", "com.example.feedreader", "--identifier", "published"] + option
            _ = try await reader.home.start(wake).wait()
            try await eventually("a wake-up") {
                let launches = try reader.launches()
                return launches.count == count + 1 && launches[0].status == 0
            }
            #expect(try reader.launches()[0].reason == .wake)
        }
        let wakes = try reader.launches().filter { $0.reason == .wake }
        #expect(wakes.count == 2 && wakes.allSatisfy { $0.pid == pid })
        // The program may have been launched for the first refresh before it was there itself.
        try await reader.run("task", "simulate-launch", "refresh")
        try await eventually("a refresh") {
            try reader.launches().first.map {
                $0.tasks == ["refresh"] && $0.pid == pid && $0.status == 0
            } ?? false
        }

        // Killed in the middle of a refresh: the program is launched for it.
        try await reader.subscribe(delay: 3000)
        try await reader.run("task", "simulate-launch", "refresh")
        try await eventually("it refreshes") {
            try reader.launches().first.map { $0.endedAt == nil && $0.pid == pid } ?? false
        }
        reader.stay.send(SIGKILL)
        _ = try await reader.stay.wait()
        func lastLaunch() -> String { (try? reader.launches().first).map { "\($0)" } ?? "" }
        try await eventually("\(lastLaunch()) \(reader.daemon.errors)") {
            try reader.launches().first.map { $0.pid != pid && $0.status == 0 } ?? false
        }
        let last = try reader.runs().prefix(2)
        #expect(last.map(\.result) == [.noData, nil])
        reader.daemon.send(SIGTERM)
        try await reader.daemon.wait()
    }
}

extension TransferQueue {
    /// Makes events of a session `s` of the host: a transfer that is given up before it begins.
    func giveUpTransfer(of host: String, to file: URL) throws {
        var change = SessionChange()
        change.host = .some(host)
        change.launchDelay = .some(0)
        var request = TransferRequest(url: "http://127.0.0.1:9/a", destination: .file(file.path))
        request.session = "s"
        _ = try enqueue([request])
        try self.change(session: "s", change)
        _ = try cancel(.session("s"))
    }
}
