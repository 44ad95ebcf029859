import Foundation
import Testing

@testable import Longhaul

@Suite struct LaunchTests {
    private let lines = """
        {"seq":7,"at":"2026-01-02T03:04:05.006Z","session":"s","type":"transferCompleted",\
        "transfer":\
        {"id":3,"kind":"download","state":"completed","url":"https://example.com/a",\
        "destination":"/tmp/a","session":"s","bytesTotal":5,"bytesDone":5,"error":null},"detail":null}
        {"seq":8,"at":"2026-01-02T03:04:06.000Z","session":"s","type":"transferFailed",\
        "transfer":\
        {"id":4,"state":"failed","error":{"code":"notFound","message":"gone","httpStatus":404,\
        "retryable":false,"bytesKept":9}},"detail":{"code":"notFound"}}
        nonsense
        {"type":"wake","identifier":"w","payload":{"a":1}}

        """

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
