import Foundation
import LonghaulTestSupport
import Testing

/// Calls as clients of aria2 make them, in the order in which they make them.
@Suite struct ClientCallTests {
    private struct Call {
        /// Without `aria2.`.
        var method: String
        /// After `token:KEY`; `GID` stands for the completed download.
        var parameters: String
        var holds: (JSONValue) -> Bool

        init(
            _ method: String, _ parameters: String = "", _ holds: @escaping (JSONValue) -> Bool
        ) {
            self.method = method
            self.parameters = parameters
            self.holds = holds
        }
    }

    /// Posts with the id and the content type of a client.
    private struct Client {
        var served: ServedHome
        var id: String
        var type: String

        func result(_ call: Call, gid: String) throws -> JSONValue {
            let parameters = call.parameters.replacingOccurrences(of: "GID", with: gid)
            let all = [#""token:s3cret""#, parameters].filter { !$0.isEmpty }
            let body =
                #"{"jsonrpc":"2.0","id":"\#(id)","method":"aria2.\#(call.method)","#
                + #""params":[\#(all.joined(separator: ","))]}"#
            let answer = try served.send("POST", "/jsonrpc", body, ["Content-Type: \(type)"])
            #expect(answer.status == 200, "\(call.method): \(answer)")
            #expect(try answer.json["id"] == .string(id))
            return try answer.json["result"]
        }

        func check(_ calls: [Call], gid: String) throws {
            for call in calls {
                let result = try result(call, gid: gid)
                #expect(call.holds(result), "\(call.method)(\(call.parameters)): \(result)")
            }
        }
    }

    /// A server with a download that has completed, and one that is paused.
    private func serving(
        _ body: (_ served: ServedHome, _ completed: String) async throws -> Void
    ) async throws {
        try await LoopbackServer.run { server in
            let home = try LonghaulHome()
            let secret = try ServedHome.secretFile("s3cret\n", home)
            let served = try await ServedHome.start(home, "--secret-file", secret)
            let client = Client(served: served, id: "setup", type: "application/json")
            let whole = server.url("whole.bin?size=10K")
            let gid = try client.result(
                Call("addUri", #"["\#(whole)"],{"pause":"false"}"#) { _ in true }, gid: "")
            let paused = Call("addUri", #"["http://127.0.0.1:9/b"],{"pause":"true"}"#) { _ in true }
            _ = try client.result(paused, gid: "")
            let completed = try #require(gid.string)
            try await eventually("it completes; \(served.process.errors)") {
                let state = Call("tellStatus", #""GID",["status"]"#) { _ in true }
                return try client.result(state, gid: completed)["status"] == "complete"
            }
            try await body(served, completed)
            try await served.stop()
        }
    }

    /// Its keys are those that it names; keys that aria2 has for torrents alone are left out.
    private static func isListed(_ download: JSONValue, _ status: String) -> Bool {
        download["status"] == .string(status) && download["gid"].string?.count == 16
            && download["totalLength"].string != nil && download["completedLength"].string != nil
            && download["downloadSpeed"].string != nil && download["uploadSpeed"].string != nil
            && download["uploadLength"].string != nil
            && download["files"][0]["path"].string != nil && !download.has("bittorrent")
    }

    /// Homarr's download client: a body of text without a type of its own, an id in Base64.
    @Test func homarr() async throws {
        let keys = """
            ["bittorrent","uploadLength","uploadSpeed","downloadSpeed","totalLength",\
            "completedLength","files","status","gid"]
            """
        try await serving { served, gid in
            let client = Client(
                served: served, id: "SG9tYXJyLjE3NjQyNTM5NjQuMC41",
                type: "text/plain;charset=UTF-8")
            try client.check(
                [
                    Call("getVersion") { $0["version"].string != nil },
                    Call("tellActive") { $0 == [] },
                    Call("tellWaiting", "0,1000,\(keys)") {
                        $0.items.count == 1 && Self.isListed($0[0], "paused")
                    },
                    Call("tellStopped", "0,1000,\(keys)") {
                        $0.items.count == 1 && Self.isListed($0[0], "complete")
                            && $0[0]["totalLength"] == "10240"
                    },
                    Call("getGlobalStat") {
                        $0["numWaiting"] == "1" && $0["downloadSpeed"].string != nil
                            && $0["uploadSpeed"].string != nil
                    },
                    Call("pauseAll") { $0 == "OK" },
                    Call("tellStatus", #""GID""#) { Self.isListed($0, "complete") },
                    Call("removeDownloadResult", #""GID""#) { $0 == "OK" },
                    Call("tellStopped", "0,1000,\(keys)") { $0 == [] },
                    Call("forceRemove", #""0000000000000002""#) { $0 == "0000000000000002" },
                ], gid: gid)
        }
    }

    /// Motrix: options as numbers and flags, empty ones, and its own methods.
    @Test func motrix() async throws {
        let keys = """
            ["gid","status","totalLength","completedLength","uploadLength","downloadSpeed",\
            "uploadSpeed","connections","numSeeders","seeder","bittorrent","errorCode",\
            "errorMessage","dir","files","infoHash"]
            """
        try await serving { served, gid in
            let client = Client(served: served, id: "7", type: "application/json")
            let directory = served.home.file("")
            let options = """
                {"all-proxy":"","allow-overwrite":false,"auto-file-renaming":true,\
                "bt-exclude-tracker":"","bt-tracker":"","continue":true,"dir":"\(directory)",\
                "max-concurrent-downloads":5,"max-connection-per-server":64,\
                "max-download-limit":0,"max-overall-download-limit":0,\
                "max-overall-upload-limit":0,"min-split-size":"1M","no-proxy":"",\
                "pause-metadata":false,"seed-ratio":1,"seed-time":60,"split":64,\
                "user-agent":"Transmission/3.00"}
                """
            let lists = """
                [{"methodName":"aria2.tellActive","params":["token:s3cret",\(keys)]},\
                {"methodName":"aria2.tellWaiting","params":["token:s3cret",0,1000,\(keys)]}]
                """
            try client.check(
                [
                    Call("getVersion") { $0["enabledFeatures"].items.isEmpty == false },
                    Call("changeGlobalOption", options) { $0 == "OK" },
                    Call("getGlobalOption") {
                        $0["max-concurrent-downloads"] == "5" && $0["split"] == "64"
                            && $0["user-agent"] == "Transmission/3.00"
                            && $0["dir"] == .string(directory)
                    },
                    Call("getGlobalStat") {
                        $0["numActive"] == "0" && $0["numWaiting"] == "1" && $0["numStopped"] == "1"
                    },
                    Call("tellStopped", "0,20,\(keys)") {
                        Self.isListed($0[0], "complete") && $0[0]["errorCode"] == "0"
                    },
                    Call("tellStatus", #""GID",\#(keys)"#) { $0["dir"].string != nil },
                    Call("getPeers", #""GID""#) { $0 == [] },
                    Call("getOption", #""GID""#) { $0["out"] == "whole.bin" },
                    Call(
                        "searchDownloadResult",
                        #"{"pathLike":"%WHOLE%","status":"complete"},0,20,\#(keys)"#
                    ) { $0.items.count == 1 && Self.isListed($0[0], "complete") },
                    Call("getDownloadResultCount", #"{"status":"error"}"#) { $0["count"] == "0" },
                    Call("requeueDownloadResult", #""GID",{"out":"again.bin","pause":"true"}"#) {
                        $0["gid"] == "0000000000000003" && $0["strategy"] == "source-uri"
                    },
                    Call("tellStatus", #""0000000000000003""#) { $0["status"] == "paused" },
                    Call("addUri", #"["http://127.0.0.1:9/c"],{"pause":true,"split":16}"#) {
                        $0 == "0000000000000004"
                    },
                    Call("saveSession") { $0 == "OK" }, Call("forcePauseAll") { $0 == "OK" },
                    Call("purgeDownloadResult") { $0 == "OK" },
                ], gid: gid)
            let call = #"{"id":"m","method":"system.multicall","params":[\#(lists)]}"#
            let both = try served.send("POST", "/jsonrpc", call).json["result"]
            #expect(both.items.count == 2, "\(both)")
            #expect(both[1][0].items.contains { Self.isListed($0, "paused") }, "\(both)")
        }
    }
}
