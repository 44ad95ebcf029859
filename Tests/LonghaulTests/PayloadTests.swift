import Foundation
import LonghaulStore
import LonghaulTestSupport
import Testing

@testable import Longhaul

/// Values of a program as payloads.
@Suite(.timeLimit(.minutes(60))) struct PayloadTests {
    private struct Cleaning: Codable, Hashable {
        var keep: Int
        var since: Date
        var folders: [String]
        var note: String?
    }

    private static let cleaning = Cleaning(
        keep: 100, since: Date(timeIntervalSince1970: 1_767_323_075.25), folders: ["a/b", "ü"])

    @Test func aValueOfEachRequestArrivesAsItWas() async throws {
        let home = try SessionHome()
        let scheduler = try await BackgroundTaskScheduler(
            host: HostProgram(
                identifier: "com.example.feed", command: ["/bin/true"],
                permittedTaskIdentifiers: ["refresh", "clean", "sync"]), store: home.store)
        try await scheduler.submit(
            AppRefreshTaskRequest(identifier: "refresh", payload: Self.cleaning))
        try await scheduler.submit(
            ProcessingTaskRequest(identifier: "clean", payload: [Self.cleaning]))
        try await scheduler.submit(
            TriggerRequest(identifier: "sync", on: [.online], payload: "all"))
        let pending = try await scheduler.pendingTaskRequests
        let payloads = try pending.map { try #require($0.payload) }
        #expect(try payloads[0].decoded() == [Self.cleaning])
        #expect(try payloads[1].decoded(as: Cleaning.self) == Self.cleaning)
        #expect(try payloads[2].decoded() == "all")
        #expect(payloads[2] == "all")
    }

    @Test func aTaskHasItsPayloadAsAValue() throws {
        #expect(try task(JSONPayload(encoding: Self.cleaning)).payload() == Self.cleaning)
        #expect(try task(nil).payload(as: Cleaning?.self) == nil)
        let text = #expect(throws: LonghaulError.self) {
            try task(.object(["keep": "x", "since": 1])).payload(as: Cleaning.self)
        }
        #expect(text?.code == .invalidRequest)
        #expect(text?.message.hasPrefix("the payload is no Cleaning: keep: ") == true)
        let missing = #expect(throws: LonghaulError.self) {
            try task(.object(["keep": 1])).payload(as: Cleaning.self)
        }
        #expect(missing?.message == "the payload is no Cleaning: since: it is missing")
        let nothing = #expect(throws: LonghaulError.self) {
            try task(nil).payload(as: Cleaning.self)
        }
        #expect(nothing?.message == "there is no payload, where Cleaning is expected")
    }

    @Test func aWakeUpCarriesAValue() async throws {
        let home = try SessionHome()
        let scheduler = try await BackgroundTaskScheduler(
            host: HostProgram(identifier: "com.example.feed", command: ["/bin/true"]),
            store: home.store)
        try await scheduler.wake(host: "com.example.feed", identifier: "a", payload: Self.cleaning)
        try await scheduler.wake(host: "com.example.feed", identifier: "b", payload: nil)
        let queue = try TransferQueue(directory: home.store)
        let requests = try queue.store.tasks.waiting(for: "com.example.feed").map(\.request)
            .sorted { $0.identifier < $1.identifier }
        try #require(requests.map(\.identifier) == ["a", "b"])
        let text = try #require(requests[0].payload)
        #expect(try JSONPayload(parsing: text).decoded() == Self.cleaning)
        #expect(requests[1].payload == nil)
    }

    /// Else it would be another value at its destination, and no error.
    @Test func whatJSONCannotHoldIsRefused() throws {
        #expect(
            refusal(["id": UInt64.max])
                == "a payload cannot be made of Dictionary<String, UInt64>: "
                + "an integer has more than 64 bits")
        #expect(refusal(["x": Double.infinity])?.contains("x: ") == true)
        struct Deep: Encodable {
            var inner: [Deep] = []
        }
        let deep = (0..<70).reduce(Deep()) { inner, _ in Deep(inner: [inner]) }
        #expect(refusal(deep)?.hasSuffix("more than 64 levels of nesting") == true)
        #expect(refusal([Int64.max, Int64.min]) == nil)
        #expect(refusal([1e300, -0.5]) == nil)
    }

    private func refusal<Value: Encodable>(_ value: Value) -> String? {
        do {
            _ = try JSONPayload(encoding: value)
            return nil
        } catch {
            return error.code == .invalidRequest ? error.message : "\(error)"
        }
    }

    private func task(_ payload: JSONPayload?) throws -> BackgroundTask {
        let launch = try #require(
            BackgroundLaunch(environment: ["LONGHAUL_LAUNCH_ID": "1"], input: Data()))
        return BackgroundTask(
            BackgroundLaunch.HandedTask(
                identifier: "t", kind: .refresh, payload: payload, attempt: 1), of: launch)
    }
}
