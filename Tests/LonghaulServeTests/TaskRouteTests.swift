import Foundation
import LonghaulTestSupport
import Testing

/// Continued tasks over HTTP: begun, seen and stopped.
@Suite struct TaskRouteTests {
    private let home: LonghaulHome

    init() throws {
        home = try LonghaulHome()
    }

    private func addHost() async throws {
        try home.scratch.write(
            """
            #!/bin/sh
            trap 'exit 1' TERM
            cat > /dev/null
            while true; do
                echo '{"task":"export.7","progress":{"completed":1,"total":4}}'
                sleep 0.1
            done
            """, to: "host.sh")
        let script = home.scratch("host.sh")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
        let added = try await home.run("host", "add", "film", "--permit", "export.*", "--", script)
        #expect(added.status == 0, "\(added.errors)")
    }

    @Test func aTaskIsBegunAndStopped() async throws {
        try await addHost()
        let served = try await ServedHome.start(home)
        let begun = try served.send(
            "POST", "/v1/tasks", #"{"identifier":"export.7","title":"Film","payload":{"n": 7}}"#)
        #expect(begun.status == 201, "\(begun)")
        #expect(try begun.json["kind"] == "continued" && begun.json["payload"]["n"] == 7)
        try await eventually("it has progress") {
            try served.send("GET", "/v1/tasks/export.7").json["progress"]["completed"] == 1
        }
        let busy = try served.send(
            "POST", "/v1/tasks", #"{"identifier":"export.8","title":"Film","strategy":"fail"}"#)
        #expect(try busy.status == 409 && busy.json["error"]["code"] == "immediateRunIneligible")
        let stopped = try served.send("POST", "/v1/tasks/export.7/cancel?host=film", "")
        #expect(stopped.status == 200, "\(stopped)")
        try await eventually("it is done") {
            try served.send("GET", "/v1/tasks/export.7").json["state"] == "done"
        }
        let done = try served.send("GET", "/v1/tasks/export.7").json
        #expect(done["runs"][0]["expiration"] == "cancelled")
        #expect(try served.send("GET", "/v1/tasks/other").status == 404)
        let bad = [
            "[]", "{}", #"{"identifier":"export.7"}"#, #"{"identifier":"export.7","title":""}"#,
            #"{"identifier":"export.7","title":"t","strategy":"x"}"#,
            #"{"identifier":"export.7","title":"t","other":1}"#,
        ]
        for body in bad {
            #expect(try served.send("POST", "/v1/tasks", body).status == 400, "\(body)")
        }
        let foreign = try served.send("POST", "/v1/tasks", #"{"identifier":"x","title":"t"}"#)
        #expect(foreign.status == 403)
        try await served.stop()
    }

    @Test func aServerThatOnlyReadsBeginsNone() async throws {
        try await addHost()
        let served = try await ServedHome.start(home, "--read-only")
        let body = #"{"identifier":"export.7","title":"t"}"#
        #expect(try served.send("POST", "/v1/tasks", body).status == 403)
        #expect(try served.send("GET", "/v1/tasks").json["tasks"].items.isEmpty)
        try await served.stop()
    }
}
