import Foundation
import LonghaulTestSupport
import Testing

/// Changes of many transfers, their order, rows of a table, settings and jobs.
@Suite struct BulkRouteTests {
    private func withWaiting(
        _ count: Int, _ arguments: String..., body: (ServedHome) async throws -> Void
    ) async throws {
        let served = try await ServedHome.start()
        let lines = (1...count).map {
            #"{"url":"http://127.0.0.1:9/\#($0)","earliestBegin":"2099-01-01T00:00:00Z"}"#
        }
        let added = try served.send("POST", "/v1/transfers", "[\(lines.joined(separator: ","))]")
        #expect(added.status == 201, "\(added)")
        try await body(served)
        try await served.stop()
    }

    @Test func manyAreChangedAtOnce() async throws {
        try await withWaiting(3) { served in
            func act(_ action: String, _ ids: [Int]) throws -> [String?] {
                let answer = try served.send(
                    "POST", "/v1/actions", #"{"action":"\#(action)","ids":\#(ids)}"#)
                #expect(answer.status == 200, "\(answer)")
                return try answer.json["results"].items.map { $0["error"]["code"].string }
            }
            #expect(try act("pause", [1, 2]) == [nil, nil])
            let paused = try served.send("GET", "/v1/transfers?state=paused&view=row").json
            #expect(paused["transfers"].items.map { $0["id"].int } == [2, 1])
            #expect(try act("remove", [1, 9]) == ["conflict", "noSuchTransfer"])
            #expect(try act("resume", [1, 2]) == [nil, nil])
            #expect(try act("cancel", [1, 3]) == [nil, nil])
            #expect(try act("remove", [1, 3]) == [nil, nil])
            let left = try served.send("GET", "/v1/transfers?ids=3,2,1").json
            #expect(left["transfers"].items.map { $0["id"].int } == [2])
        }
    }

    @Test(arguments: [
        #"{"action":"explode","ids":[1]}"#, #"{"action":"pause","ids":[]}"#, #"{"ids":[1]}"#,
        #"{"action":"pause"}"#, "[]", #"{"action":"pause","ids":["1"]}"#,
    ])
    func badActionsAreRefused(body: String) async throws {
        let served = try await ServedHome.start()
        #expect(try served.send("POST", "/v1/actions", body).status == 400)
        #expect(try served.send("GET", "/v1/transfers?ids=1,x").status == 400)
        #expect(try served.send("GET", "/v1/transfers?view=all").status == 400)
        try await served.stop()
    }

    @Test func theOrderIsChanged() async throws {
        try await withWaiting(4) { served in
            func order() throws -> [Int?] {
                try served.send("GET", "/v1/order").json["order"].items.map(\.int)
            }
            func move(_ id: Int, _ body: String) throws -> Int {
                try served.send("POST", "/v1/transfers/\(id)/move", body).status
            }
            #expect(try order() == [1, 2, 3, 4])
            #expect(try move(4, #"{"before":1}"#) == 200)
            #expect(try order() == [4, 1, 2, 3])
            #expect(try move(1, #"{"after":2}"#) == 200)
            #expect(try order() == [4, 2, 1, 3])
            _ = try served.send("PATCH", "/v1/transfers/3", #"{"priority":"high"}"#)
            #expect(try order() == [3, 4, 2, 1])
            #expect(try move(1, #"{"before":3}"#) == 409)
            #expect(try move(9, #"{"before":3}"#) == 404)
            #expect(try move(1, #"{"before":9}"#) == 409)
            #expect(try move(1, #"{}"#) == 400)
            #expect(try move(1, #"{"before":2,"after":3}"#) == 400)
            #expect(try order() == [3, 4, 2, 1])
        }
    }

    /// The row of a table has the values of the whole.
    @Test func aRowIsAPartOfTheWhole() async throws {
        try await withWaiting(1) { served in
            let row = try served.send("GET", "/v1/transfers?view=row").json["transfers"][0]
            let whole = try served.send("GET", "/v1/transfers").json["transfers"][0]
            #expect(row.keys.count > 10 && row.keys.count < whole.keys.count)
            for key in row.keys where key != "waitingFor" { #expect(row[key] == whole[key]) }
        }
    }

    @Test func settingsAreShown() async throws {
        let home = try LonghaulHome()
        let path = try home.scratch.write(
            #"{"limits":{"running":3,"rate":"1M"},"defaults":{"retries":7}}"#, to: "config.json")
        let configured = home.with(["LONGHAUL_CONFIG": path])
        let served = try await ServedHome.start(configured)
        let settings = try served.send("GET", "/v1/settings").json
        #expect(settings["limits"]["running"] == 3 && settings["limits"]["rate"] == 1_048_576)
        #expect(settings["defaults"]["retries"] == 7)
        #expect(settings["retention"]["ended"] == 7_776_000)
        #expect(settings["configuration"].string == path)
        #expect(settings["changesJobs"] == .bool(false))
        #expect(try served.send("GET", "/v1/limit").json["configured"] == 1_048_576)
        try await served.stop()
    }

    /// A job runs any program: that takes a secret and the word of who starts the server.
    @Test func jobsAreChangedOnlyWhereThatIsAllowed() async throws {
        let job = #"{"argv":["/bin/echo","hi"],"every":"1d"}"#
        let served = try await ServedHome.start()
        #expect(try served.send("PUT", "/v1/jobs/hello", job).status == 403)
        #expect(try served.send("DELETE", "/v1/jobs/hello").status == 403)
        try await served.stop()
        let home = try LonghaulHome()
        let refused = try await ServedHome.serve(home, ["--allow-jobs"]).wait()
        #expect(refused.status == 5 && refused.errors.contains("secret"), "\(refused.errors)")
    }

    @Test func aJobIsCreatedChangedAndRemoved() async throws {
        let home = try LonghaulHome()
        let file = try ServedHome.secretFile("abc\n", home)
        let served = try await ServedHome.start(home, "--secret-file", file, "--allow-jobs")
        func send(_ method: String, _ body: String = "") throws -> ServedHome.Answer {
            try served.send(method, "/v1/jobs/hello", body, ["Authorization: Bearer abc"])
        }
        #expect(try served.send("PUT", "/v1/jobs/hello", "{}").status == 401)
        let made = try send(
            "PUT",
            #"{"argv":["echo","a b"],"every":"1d","require":["power"],"nice":5,"maxTime":"1h"}"#)
        #expect(made.status == 200, "\(made)")
        #expect(try made.json["argv"][1] == "a b" && made.json["every"] == 86_400)
        #expect(try made.json["require"].items.map(\.string) == ["power"])
        #expect(try made.json["nice"] == 5 && made.json["maxTime"] == 3600)
        #expect(try made.json["directory"].string == home.scratch("files"))
        #expect(try made.json["retries"] == 3)
        // What is shown may be sent again.
        let again = try send("PUT", made.body)
        #expect(again.status == 200, "\(again)")
        #expect(try again.json["every"] == 86_400 && again.json["nice"] == 5)
        let changed = try send("PUT", #"{"argv":["/bin/echo"],"at":"02:30","days":"Mon-Fri"}"#)
        #expect(try changed.json["every"] == .null && changed.json["days"] == "Mon-Fri")
        let monthly = try send(
            "PUT", #"{"argv":["/bin/echo"],"calendar":"monthly","slot":"disk=2"}"#)
        #expect(try monthly.json["calendar"] == "monthly" && monthly.json["slot"] == "disk=2")
        #expect(try send("PUT", monthly.body).json["slot"] == "disk=2")
        let free = try send("PUT", #"{"argv":["/bin/echo"],"at":"02:30","slot":null}"#)
        #expect(try free.json["calendar"] == .null && free.json["slot"] == .null)
        let limited = try send("PUT", #"{"argv":["/bin/echo"],"maxMemory":"64M"}"#)
        #expect(try limited.json["maxMemory"] == 67_108_864)
        #expect(try send("PUT", limited.body).json["maxMemory"] == 67_108_864)
        let unlimited = try send("PUT", #"{"argv":["/bin/echo"],"maxMemory":null}"#)
        #expect(try unlimited.json["maxMemory"] == .null)
        for bad in [
            "{}", #"{"argv":[]}"#, #"{"argv":["no-such-program-here"]}"#,
            #"{"argv":["/bin/echo"],"calendar":"daily","at":"02:30"}"#,
            #"{"argv":["/bin/echo"],"calendar":"sometimes"}"#,
            #"{"argv":["/bin/echo"],"slot":"a b"}"#,
            #"{"argv":["/bin/echo"],"maxMemory":1000}"#,
            #"{"argv":["/bin/echo"],"every":"1d","at":"02:30"}"#,
            #"{"argv":["/bin/echo"],"nice":20}"#, #"{"argv":["/bin/echo"],"odd":1}"#,
            #"{"argv":["/bin/echo"],"whenLost":"maybe"}"#,
        ] {
            #expect(try send("PUT", bad).status == 400, "\(bad)")
        }
        #expect(try send("DELETE").status == 200)
        #expect(try send("DELETE").status == 404)
        try await served.stop()
    }
}
