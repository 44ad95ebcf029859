import Foundation
import LonghaulStore
import LonghaulTestSupport
import Synchronization
import Testing

@testable import Longhaul

/// A host that runs by itself, in the process of the engine. Its program is not there: all that is
/// handed over comes to this process.
@Suite(.timeLimit(.minutes(60))) struct ResidentHostTests {
    private let home: SessionHome
    private let queue: TransferQueue
    private let log = Log()
    private static let host = "com.example.resident"

    private struct Failure: Error {}

    private final class Log: Sendable {
        private let lines = Mutex<[String]>([])
        func add(_ line: String) { lines.withLock { $0.append(line) } }
        var all: [String] { lines.withLock { $0 } }
    }

    init() throws {
        home = try SessionHome()
        queue = try TransferQueue(directory: home.store)
        try queue.add(
            host: Self.host,
            HostSettings(
                argv: [home.scratch("no-program")],
                permitted: ["good", "bad", "slow", "deaf"], eventBudget: 20))
    }

    private func program() -> BackgroundHost {
        var host = BackgroundHost(identifier: Self.host, store: home.store)
        let log = log
        host.backgroundTask(.appRefresh("good")) { task in
            log.add("good \(task.attempt) \(task.payload?.text ?? "-")")
        }
        host.backgroundTask(.processing("bad")) { _ in throw Failure() }
        host.backgroundTask(.processing("slow")) { task in
            log.add("slow begins")
            do {
                try await Task.sleep(for: .seconds(60))
            } catch {
                log.add("slow ends, \(task.remainingTime)")
                throw error
            }
        }
        host.backgroundTask(.processing("deaf")) { _ in
            log.add("deaf begins")
            await Task.detached { try? await Task.sleep(for: .seconds(7)) }.value
            log.add("deaf ends")
        }
        host.backgroundTask(.wakeUp("ring")) { payload in log.add("ring \(payload?.text ?? "-")") }
        host.backgroundTask(.urlSession("s")) { session, events in
            let kinds = events.map(\.kind.rawValue).joined(separator: ",")
            log.add("\(session.identifier) \(BackgroundLaunch.current?.session ?? "-") \(kinds)")
        }
        return host
    }

    private func submit(_ identifier: String, _ kind: TaskKind = .processing) throws {
        var request = TaskRequest(identifier: identifier, kind: kind, host: Self.host)
        request.payload = #"{"n":1}"#
        // A program that is not there is refused.
        try home.scratch.write("", to: "no-program")
        let program = home.scratch("no-program")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        defer { try? FileManager.default.removeItem(atPath: program) }
        try queue.tasks.submit(request)
    }

    private func lastRun(_ identifier: String) throws -> TaskRun? {
        try queue.tasks.find(identifier, host: Self.host)?.runs.first
    }

    private var launches: [LaunchRecord] {
        get throws { try queue.host(Self.host)?.launches ?? [] }
    }

    private func isThere() throws -> Bool {
        try !queue.store.residents.all(of: Self.host).isEmpty
    }

    /// An engine and the host, for the time of `body`.
    private func withProgram(_ body: @escaping @Sendable () async throws -> Void) async throws {
        try await home.withSession("engine", .inProcess) { _ in
            let host = program()
            let running = Task { try await host.run() }
            try await within {
                try await eventually("it is there") { try isThere() }
                try await body()
            }
            running.cancel()
            try await running.value
        }
        #expect(try !isThere())
        #expect(try queue.store.hosts.openLaunches().count <= 1)
    }

    @Test func whatIsDueComesToItsHandlers() async throws {
        try await withProgram {
            try submit("good", .refresh)
            try await eventually("\(log.all)") { try lastRun("good")?.result == .success }
            try submit("bad")
            try await eventually { try lastRun("bad")?.result == .failure }
            try queue.tasks.wake(
                host: Self.host, WakeUp(identifier: "ring", payload: #"{"a":1}"#, isUrgent: true))
            try await eventually { log.all.contains(#"ring {"a":1}"#) }
            // The task waits for its back-off, and is asked for all the same.
            try queue.tasks.simulateLaunch(of: "bad", host: Self.host)
            try await eventually { try queue.tasks.find("bad", host: Self.host)?.runs.count == 2 }
            try await eventually { try launches.allSatisfy { $0.endedAt != nil } }
        }
        #expect(log.all.first == #"good 1 {"n":1}"#)
        let all = try launches
        #expect(all.map(\.pid).allSatisfy { $0 == getpid() }, "\(all)")
        #expect(all.map(\.ending).allSatisfy { $0 == .exited })
        #expect(all.map(\.status).allSatisfy { $0 == 0 })
        #expect(try queue.tasks.find("good", host: Self.host)?.state == .done)
    }

    @Test func eventsComeToTheHandlerOfTheirSession() async throws {
        try queue.giveUpTransfer(of: Self.host, to: home.file("a"))
        try await withProgram {
            try await eventually("\(log.all)") {
                log.all == ["s s transferCancelled,sessionFinished"]
            }
            try await eventually { try queue.events(after: 0, waitingOnly: true).isEmpty }
        }
    }

    @Test func anExpirationCancelsTheHandler() async throws {
        try await withProgram {
            try submit("slow")
            try await eventually { log.all.contains("slow begins") }
            try queue.tasks.simulateExpiration(of: "slow", host: Self.host)
            try await eventually { try launches.last?.endedAt != nil }
            // Before the program is cancelled, which would end the handler, too.
            try await eventually { log.all.contains { $0.hasPrefix("slow ends") } }
        }
        #expect(log.all.contains("slow ends, 0.0"))
        let run = try #require(try queue.tasks.find("slow", host: Self.host)?.runs.last)
        #expect(run.result == nil)
        #expect(run.expiration == .simulated)
        #expect(try launches.last?.ending == .expired)
    }

    /// Nothing more is handed to the process while a handler goes on that was to end.
    @Test func aHandlerThatGoesOnIsNotWaitedFor() async throws {
        try await withProgram {
            try submit("deaf")
            try await eventually { log.all.contains("deaf begins") }
            try queue.tasks.simulateExpiration(of: "deaf", host: Self.host)
            try await eventually { try launches.last?.endedAt != nil }
            #expect(log.all == ["deaf begins"])
            #expect(try !isThere())
            try queue.tasks.cancelAll(host: Self.host)
            try await eventually("it comes back") { try isThere() }
            #expect(log.all == ["deaf begins", "deaf ends"])
            // The host has a back-off of a minute, which this ends.
            try queue.reset(host: Self.host)
            try submit("good", .refresh)
            try await eventually { try lastRun("good")?.result == .success }
        }
        #expect(try launches.last?.ending == .expired)
        #expect(try queue.tasks.find("deaf", host: Self.host)?.runs.last?.result == nil)
    }

    @Test func whatIsGivenUpComesAgain() async throws {
        try await home.withSession("engine", .inProcess) { _ in
            let host = program()
            let first = Task { try await host.run() }
            try await eventually { try isThere() }
            try submit("slow")
            try await eventually { log.all.contains("slow begins") }
            first.cancel()
            try await first.value
            try await eventually { try launches.last?.ending == .unknown }
            let second = Task { try await host.run() }
            try await eventually { log.all.filter { $0 == "slow begins" }.count == 2 }
            second.cancel()
            try await second.value
        }
        // No failure is counted.
        #expect(try queue.tasks.find("slow", host: Self.host)?.failures == 0)
        #expect(try queue.host(Self.host)?.failures == 0)
    }

    /// The engine goes while a handler works, and the next one finds what became of it.
    @Test func resultsOutliveTheEngine() async throws {
        let host = program()
        let running = Task { try await host.run() }
        try await eventually { try isThere() }
        try submit("deaf")
        try await home.withSession("engine", .inProcess) { _ in
            try await eventually { log.all.contains("deaf begins") }
        }
        try await eventually { log.all.contains("deaf ends") }
        running.cancel()
        try await running.value
        #expect(try launches.first?.endedAt == nil)
        try await home.withSession("engine", .inProcess) { _ in
            try await eventually { try launches.first?.endedAt != nil }
        }
        #expect(try launches.map(\.ending) == [.exited])
        #expect(try lastRun("deaf")?.result == .success)
        #expect(try queue.tasks.find("deaf", host: Self.host)?.state == .done)
    }

    @Test func registeredHandlersAreCalledAsLongAsTheSchedulerLives() async throws {
        try await home.withSession("engine", .inProcess) { _ in
            var scheduler: BackgroundTaskScheduler? = try await BackgroundTaskScheduler(
                host: HostProgram(
                    identifier: Self.host, command: [home.scratch("no-program")],
                    permittedTaskIdentifiers: ["good"]), store: home.store)
            // Without a handler it is launched all the same.
            #expect(try await scheduler?.run() == false)
            #expect(try !isThere())
            let log = log
            scheduler?.register(forTaskWithIdentifier: "good") { task in
                log.add(task.identifier)
                task.setTaskCompleted(success: true)
            }
            #expect(try await scheduler?.run() == false)
            #expect(try isThere())
            try submit("good", .refresh)
            try await eventually { try lastRun("good")?.result == .success }
            scheduler = nil
            try await eventually("it has left") { try !isThere() }
        }
        #expect(log.all == ["good"])
    }

    @Test func aHostThatIsNotKnownIsRefused() async throws {
        let host = BackgroundHost(identifier: "com.example.nobody", store: home.store)
        await #expect { try await host.run() } throws: {
            ($0 as? LonghaulError)?.code == .noSuchHost
        }
    }
}
