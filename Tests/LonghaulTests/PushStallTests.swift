import Foundation
import LonghaulTestSupport
import Testing

@testable import Longhaul

/// Streams that fall silent: an engine in this process that waits a second for them in place of
/// minutes, a real server, and a host that is a script.
@Suite(.timeLimit(.minutes(60))) struct PushStallTests {
    private let home: LonghaulHome

    init() throws {
        home = try LonghaulHome()
    }

    private func subscribe(to url: String) async throws -> TransferQueue {
        let got = home.scratch("got")
        try home.scratch.write("#!/bin/sh\ncat >> '\(got)'\n", to: "host.sh")
        let script = home.scratch("host.sh")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
        let added = try await home.run("host", "add", "feed", "--", script)
        #expect(added.status == 0, "\(added.errors)")
        let queue = try TransferQueue(directory: home.state)
        try HostPushes(queue).subscribe(host: "feed", to: url, isUrgent: true)
        return queue
    }

    private func withEngine(
        _ queue: TransferQueue, silence: Double = 1, _ body: () async throws -> Void
    ) async throws {
        var options = EngineOptions(mode: .embedded)
        options.pushSilenceSeconds = silence
        let engine = EngineThread(EngineRun(queue: queue, options: options)) {}
        #expect(engine.start())
        do {
            try await body()
        } catch {
            await engine.leave()
            throw error
        }
        await engine.leave()
    }

    /// What the host was told.
    private func payloads() throws -> [JSONValue] {
        try JSONValue.lines((try? home.scratch.text(of: "got")) ?? "").map { $0["payload"] }
    }

    /// Each event comes once, although the server repeats the one that it is asked to resume after.
    @Test(arguments: ["events", "alerts/json"])
    func aSilentStreamIsConnectedAgainAfterItsLastEvent(path: String) async throws {
        let server = try await PushServer.start()
        // The first connection may be over before anything is sent.
        try server.set(mode: "all repeat")
        let queue = try await subscribe(to: server.url(path))
        try await withEngine(queue) {
            try server.send(#"{"id":"a","data":"1"}"#)
            try await eventually("the first is handed over") { try payloads() == [1] }
            try await eventually("it is connected again and again") {
                try server.log.count { $0["last"] == "a" } >= 2
            }
            try server.send(#"{"id":"b","data":"2"}"#)
            try await eventually("the second is handed over") { try payloads().contains(2) }
            try await eventually("it is connected after the second") {
                try server.log.count { $0["last"] == "b" } >= 2
            }
            let record = try #require(try queue.host("feed"))
            #expect(record.subscriptions.first?.lastID == "b")
            #expect(record.wakeUps.isEmpty, "\(record.wakeUps)")
        }
        #expect(try payloads() == [1, 2])
    }

    /// The head is enough: a topic without a message says nothing else.
    @Test func aStreamIsConnectedBeforeItsFirstByte() async throws {
        let server = try await PushServer.start()
        try server.set(mode: "all bare")
        let queue = try await subscribe(to: server.url("events"))
        try await withEngine(queue, silence: 3600) {
            try await eventually("it is connected") {
                try queue.host("feed")?.subscriptions.first?.connectedAt != nil
            }
            try server.send(#"{"id":"a","data":"1"}"#)
            try await eventually("its event is handed over") { try payloads() == [1] }
        }
        #expect(try server.log.count == 1)
    }

    /// A server that takes connections and gives no answer is a failure, which is shown and waits
    /// longer and longer.
    @Test func aServerWithoutAnAnswerIsAskedAgain() async throws {
        let server = try await PushServer.start()
        try server.set(mode: "mute")
        let queue = try await subscribe(to: server.url("events"))
        try await withEngine(queue) {
            try await eventually("it is asked again") { try server.log.count >= 2 }
            let stream = try #require(try queue.host("feed")?.subscriptions.first)
            #expect(stream.failures >= 1 && stream.connectedAt == nil)
            #expect(stream.error?.code == .timedOut, "\(String(describing: stream.error))")
            try server.set(mode: "")
            try await eventually("it is connected") {
                try queue.host("feed")?.subscriptions.first?.connectedAt != nil
            }
        }
    }
}
