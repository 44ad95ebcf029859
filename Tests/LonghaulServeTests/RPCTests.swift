import Foundation
import LonghaulTestSupport
import Testing

/// aria2's JSON-RPC.
@Suite struct RPCTests {
    /// A client that others wrote, and one over WebSocket.
    @Test func aria2p() async throws {
        guard await PythonEnvironment.isReady else { return }
        try await LoopbackServer.run { server in
            let home = try LonghaulHome()
            let secret = try ServedHome.secretFile("abc\n", home)
            let served = try await ServedHome.start(home, "--secret-file", secret)
            let end = try await PythonEnvironment.run(
                "aria2-client.py",
                [
                    "\(served.port)", "abc", server.url("a.bin?size=100K"),
                    server.url("slow.bin?size=10M"),
                ])
            #expect(end.output == "OK\n", "\(end.errors)\n\(served.process.errors)")
            // `shutdown` ends the server.
            #expect(try await served.process.wait().status == 0)
            try server.expected("a.bin?size=100K").verify(file: home.file("by-aria2p.bin"))
        }
    }

    @Test func gidsLastAcrossRestarts() async throws {
        let home = try LonghaulHome()
        let served = try await ServedHome.start(home)
        let gid = try served.call("aria2.addUri", #"[["http://127.0.0.1:9/a"],{"pause":"true"}]"#)
        try await served.stop()
        let again = try await ServedHome.start(home)
        let parameters = #"["\#(gid.string ?? "")",["gid","status"]]"#
        let status = try again.call("aria2.tellStatus", parameters)
        #expect(status["gid"] == gid && status["status"] == "paused", "\(status)")
        try await again.stop()
    }

    /// A name that the client chooses lasts as well, until the download is removed.
    @Test func gidsMayBeChosen() async throws {
        let home = try LonghaulHome()
        var served = try await ServedHome.start(home)
        func add(_ gid: String) throws -> JSONValue {
            try served.call(
                "aria2.addUri",
                #"[["http://127.0.0.1:9/a"],{"pause":"true","gid":"\#(gid)"}]"#)
        }
        func status(_ gid: String, _ key: String) throws -> JSONValue {
            try served.call("aria2.tellStatus", #"["\#(gid)"]"#)[key]
        }
        #expect(try add("2089B05EcCa3d829") == "2089b05ecca3d829")
        #expect(try status("2089b05ecca3d829", "status") == "paused")
        #expect(try status("2089B05ECCA3D829", "gid") == "2089b05ecca3d829")
        #expect(try status("1", "gid") == "2089b05ecca3d829")
        #expect(try add("2089b05ecca3d829")["message"].string?.contains("already used") == true)
        // It is another download of the same, as it is with aria2.
        #expect(try add("ffffffffffffffff") == "ffffffffffffffff")
        for odd in ["2089b05ecca3d82", "2089b05ecca3d82g", "0000000000000007", ""] {
            #expect(try add(odd)["code"] == 1, "\(odd)")
        }
        #expect(try status("2089b05ecca3d820", "code") == 1)
        try await served.stop()
        served = try await ServedHome.start(home)
        let listed = try served.call("aria2.tellWaiting", #"[0,9,["gid"]]"#)
        #expect(listed.items.map { $0["gid"] } == ["2089b05ecca3d829", "ffffffffffffffff"])
        #expect(try served.call("aria2.remove", #"["2089b05ecca3d829"]"#) == "2089b05ecca3d829")
        let removed = try served.call("aria2.removeDownloadResult", #"["2089b05ecca3d829"]"#)
        #expect(removed == "OK", "\(removed)")
        #expect(try add("2089b05ecca3d829") == "2089b05ecca3d829")
        #expect(try status("3", "gid") == "2089b05ecca3d829")
        try await served.stop()
    }

    @Test(arguments: [
        ("{", 500, -32700), ("1", 400, -32600), ("{}", 400, -32600),
        (#"{"id":1,"method":1}"#, 400, -32600),
        (#"{"id":1,"method":"aria2.getVersion","params":1}"#, 500, -32602),
        (#"{"id":1,"method":"aria2.odd"}"#, 400, 1),
        (#"{"id":"a","method":"aria2.tellStatus"}"#, 400, 1),
        (#"{"id":"a","method":"aria2.tellStatus","params":["zz"]}"#, 400, 1),
        (#"{"id":"a","method":"aria2.addUri","params":[["magnet:?xt=1"]]}"#, 400, 1),
        (#"{"id":"a","method":"aria2.addUri","params":[["http://h/a"],{"split":"x"}]}"#, 400, 1),
    ])
    func errors(body: String, status: Int, code: Int) async throws {
        let served = try await ServedHome.start()
        let answer = try served.send("POST", "/jsonrpc", body)
        #expect(answer.status == status)
        #expect(try answer.json["error"]["code"] == .int(code), "\(answer.body)")
    }

    /// As Homarr asks: text/plain, ids that are texts, keys that Longhaul has not.
    @Test func otherSpellings() async throws {
        let served = try await ServedHome.start()
        let call =
            #"{"jsonrpc":"2.0","id":"homarr","method":"system.listMethods","params":["token:x"]}"#
        let answer = try served.send("POST", "/jsonrpc", call, ["Content-Type: text/plain"])
        #expect(try answer.json["id"] == "homarr")
        let batch = try served.send(
            "POST", "/jsonrpc",
            #"[{"id":1,"method":"aria2.getGlobalStat"},{"id":2,"method":"aria2.odd"}]"#)
        #expect(batch.status == 200)
        #expect(try batch.json[0]["result"]["numActive"].string != nil)
        #expect(try batch.json[1]["error"]["code"] == 1)
        // Base64 of `[]`.
        let get = try served.send(
            "GET", "/jsonrpc?jsoncallback=cb&id=q&method=aria2.getVersion&params=W10%3D")
        #expect(get.body.hasPrefix("cb({\"id\":\"q\""), "\(get)")
        #expect(get.head.contains("text/javascript"))
        let odd = try served.send("GET", "/jsonrpc?jsoncallback=alert(1)&id=q&method=a&params=W10=")
        #expect(odd.status == 400)
    }

    @Test func placesAreChangedAndLast() async throws {
        let home = try LonghaulHome()
        var served = try await ServedHome.start(home)
        for name in ["a", "b", "c", "d", "e", "f"] {
            _ = try served.call(
                "aria2.addUri", #"[["http://127.0.0.1:9/\#(name)"],{"pause":"true"}]"#)
        }
        _ = try served.send("PATCH", "/v1/transfers/6", #"{"priority":"high"}"#)
        func order() throws -> String {
            let waiting = try served.call("aria2.tellWaiting", #"[0,99,["gid"]]"#)
            return String(waiting.items.compactMap { $0["gid"].string?.last })
        }
        #expect(try order() == "612345")
        let moves: [(parameters: String, position: Int, order: String)] = [
            (#"["5",0,"POS_SET"]"#, 1, "651234"), (#"["5",2,"POS_CUR"]"#, 3, "612534"),
            (#"["1",-1,"POS_END"]"#, 4, "625314"), (#"["2",99,"POS_SET"]"#, 5, "653142"),
            (#"["6",3,"POS_SET"]"#, 0, "653142"), (#"["2","1","POS_SET"]"#, 1, "625314"),
            (#"["3",0,"POS_CUR"]"#, 3, "625314"), (#"["4",-99,"POS_CUR"]"#, 1, "642531"),
        ]
        for move in moves {
            let position = try served.call("aria2.changePosition", move.parameters)
            #expect(position == .int(move.position), "\(move)")
            #expect(try order() == move.order, "\(move)")
        }
        for odd in [#"["2",0,"POS_ODD"]"#, #"["9",0,"POS_SET"]"#, #"["2","x","POS_SET"]"#] {
            #expect(try served.call("aria2.changePosition", odd)["code"] == 1, "\(odd)")
        }
        try await served.stop()
        served = try await ServedHome.start(home)
        #expect(try order() == "642531")
        try await served.stop()
    }

    @Test func downloadsBeginInTheirPlaces() async throws {
        try await LoopbackServer.run { server in
            let served = try await ServedHome.start()
            let limit = #"[{"max-concurrent-downloads":"1"}]"#
            #expect(try served.call("aria2.changeGlobalOption", limit) == "OK")
            for name in ["a", "b", "c", "d"] {
                let url = server.url("\(name).bin?size=10K")
                _ = try served.call("aria2.addUri", #"[["\#(url)"],{"pause":"true"}]"#)
            }
            #expect(try served.call("aria2.changePosition", #"["4",0,"POS_SET"]"#) == 0)
            #expect(try served.call("aria2.changePosition", #"["1",0,"POS_END"]"#) == 3)
            #expect(try served.call("aria2.unpauseAll") == "OK")
            try await eventually("all complete; \(served.process.errors)") {
                try served.call("aria2.getGlobalStat")["numStopped"] == "4"
            }
            let events = try served.send("GET", "/v1/events").json["events"].items
            let ends = events.filter { $0["type"] == "transferCompleted" }
            #expect(ends.compactMap { $0["transferID"].int } == [4, 2, 3, 1])
            try await served.stop()
        }
    }

    @Test func urlsAndOptionsAreChanged() async throws {
        let served = try await ServedHome.start()
        for name in ["a", "b", "c"] {
            let gid = try served.call(
                "aria2.addUri", #"[["http://127.0.0.1:9/\#(name)"],{"pause":true}]"#)
            #expect(gid.string?.count == 16, "\(gid)")
        }
        let counts = try served.call(
            "aria2.changeUri",
            #"["1",1,["http://127.0.0.1:9/a"],["http://127.0.0.1:9/x","http://127.0.0.1:9/y"]]"#)
        #expect(counts == [1, 2], "\(counts)")
        let uris = try served.call("aria2.getUris", #"["1"]"#)
        #expect(uris.items.map { $0["uri"] } == ["http://127.0.0.1:9/x", "http://127.0.0.1:9/y"])
        let moved = try served.call("aria2.changeOption", #"["2",{"out":"z","max-tries":"3"}]"#)
        #expect(moved == "OK", "\(moved)")
        let option = try served.call("aria2.getOption", #"["2"]"#)
        #expect(option["out"] == "z" && option["max-tries"] == "3", "\(option)")
        try await served.stop()
    }
}
