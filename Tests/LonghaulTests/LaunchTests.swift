import Foundation
import LonghaulTestSupport
import Testing

@testable import Longhaul

@Suite struct LaunchTests {
    private let lines: String

    init() throws {
        lines = try Fixture.text("hosts/session-events.jsonl")
    }

    @Test func theContractIsRead() throws {
        let launch = try #require(
            BackgroundLaunch(
                environment: [
                    "LONGHAUL_LAUNCH_ID": "12", "LONGHAUL_LAUNCH_REASON": "session-events",
                    "LONGHAUL_SESSION": "s", "LONGHAUL_HOME": "/state",
                    "LONGHAUL_DEADLINE": "2026-01-02T03:04:35.000Z",
                ], input: Data(lines.utf8)))
        #expect(launch.id == "12")
        #expect(launch.reason == .sessionEvents)
        #expect(launch.session == "s")
        #expect(launch.store == "/state")
        #expect(launch.deadline == Date(timeIntervalSince1970: 1_767_323_075))
        #expect(launch.items.map(\.type) == ["transferCompleted", "transferFailed", "wake"])
        #expect(launch.events.map(\.sequence) == [7, 8])
        #expect(launch.events[0].file?.path == "/tmp/a")
        #expect(launch.events[0].detail == nil)
        #expect(launch.events[1].transfer?.error?.code == .notFound)
        #expect(launch.events[1].transfer?.error?.bytesKept == 9)
        #expect(launch.events[1].detail == #"{"code":"notFound"}"#)
        #expect(launch.events[1].file == nil)
    }

    @Test func withoutALaunchThereIsNone() {
        #expect(BackgroundLaunch(environment: [:], input: Data()) == nil)
        #expect(BackgroundLaunch.current == nil)
    }
}
