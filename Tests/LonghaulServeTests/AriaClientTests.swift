import Foundation
import LonghaulTestSupport
import Testing

@testable import Longhaul
@testable import LonghaulServe

/// What clients of aria2 rely on, as their own tests have it.
@Suite struct AriaClientTests {
    /// AriaNg asks for what has failed again, and then removes the old result.
    @Test func whatHasEndedComesAgainUnderAnotherName() async throws {
        try await LoopbackServer.run { server in
            let served = try await ServedHome.start()
            let add = #"[["\#(server.url("a.bin?size=10K&status=404"))"],{"out":"a.bin"}]"#
            let old = try #require(try served.call("aria2.addUri", add).string)
            try await eventually("it fails") {
                try served.call("aria2.tellStatus", #"["\#(old)"]"#)["status"] == "error"
            }
            let new = try #require(try served.call("aria2.addUri", add).string)
            #expect(new != old)
            let removed = try served.call("aria2.removeDownloadResult", #"["\#(old)"]"#)
            #expect(removed == "OK")
            #expect(try served.call("aria2.tellStatus", #"["\#(old)"]"#)["code"] == 1)
            #expect(try served.call("aria2.tellStatus", #"["\#(new)"]"#)["gid"] == .string(new))
            // Over `/v1` the same request is the same transfer, as with the command.
            try await eventually("it fails, too") {
                try served.call("aria2.tellStatus", #"["\#(new)"]"#)["status"] == "error"
            }
            let url = server.url("a.bin?size=10K&status=404")
            let again = try served.send(
                "POST", "/v1/transfers", #"{"url":"\#(url)","destination":"a.bin"}"#)
            #expect(try again.json["transfers"][0]["id"] == 2, "\(again)")
            try await served.stop()
        }
    }

    /// As AriaNg does it: with the options that it is told. The bytes that were there are not asked
    /// for again.
    @Test func whatComesAgainHasTheBytes() async throws {
        try await LoopbackServer.run { server in
            let served = try await ServedHome.start()
            let url = server.url(
                "a.bin?size=2M&etag=v&cut=1048576&cuts=1&status=404&statusafter=1&statuses=1")
            let old = try served.call("aria2.addUri", #"[["\#(url)"],{"out":"a.bin"}]"#)
            let gid = #"["\#(old.string ?? "")"]"#
            try await eventually("it fails; \(served.process.errors)") {
                try served.call("aria2.tellStatus", gid)["status"] == "error"
            }
            let held = try served.call("aria2.tellStatus", gid)["completedLength"].string
            #expect(held.flatMap { Int($0) } ?? 0 > 0)
            let told = try served.call("aria2.getOption", gid)
            let options = told.keys.map { "\"\($0)\":\"\(told[$0].string ?? "")\"" }
            let new = try served.call(
                "aria2.addUri", "[[\"\(url)\"],{\(options.joined(separator: ","))}]")
            #expect(new != old && new.string?.count == 16, "\(new)")
            try await eventually("it has them") {
                let transfer = try served.send("GET", "/v1/transfers/2").json
                return transfer["bytesDone"].int ?? 0 >= held.flatMap { Int($0) } ?? 1
            }
            #expect(try served.call("aria2.tellStatus", gid)["status"] == "error")
            #expect(try served.call("aria2.removeDownloadResult", gid) == "OK")
            #expect(try served.call("aria2.tellStatus", #"["\#(new.string ?? "")"]"#).has("gid"))
            try await served.stop()
        }
    }

    @Test func onlyWhatMayBePausedIs() async throws {
        let served = try await ServedHome.start()
        let added = try served.call("aria2.addUri", #"[["http://127.0.0.1:9/a"],{"pause":"true"}]"#)
        let gid = #"["\#(added.string ?? "")"]"#
        for method in ["pause", "forcePause"] {
            let error = try served.call("aria2.\(method)", gid)
            #expect(error["message"].string?.contains("cannot be paused now") == true, "\(error)")
        }
        #expect(try served.call("aria2.unpause", gid) == added)
        let error = try served.call("aria2.unpause", gid)
        #expect(error["message"].string?.contains("cannot be unpaused now") == true, "\(error)")
        #expect(try served.call("aria2.pause", gid) == added)
        #expect(try served.call("aria2.remove", gid) == added)
        for method in ["pause", "unpause"] {
            #expect(try served.call("aria2.\(method)", gid)["code"] == 1, "\(method)")
        }
        for method in ["pauseAll", "unpauseAll"] {
            #expect(try served.call("aria2.\(method)") == "OK")
        }
        try await served.stop()
    }

    @Test func aTextIsNoListOfURLs() async throws {
        let served = try await ServedHome.start()
        for (method, parameters) in [
            ("addUri", #"["http://127.0.0.1:9/a"]"#),
            ("changeUri", #"["1",1,"http://127.0.0.1:9/a",[]]"#), ("addUri", "[{}]"),
        ] {
            _ = try served.call("aria2.addUri", #"[["http://127.0.0.1:9/a"],{"pause":"true"}]"#)
            let error = try served.call("aria2.\(method)", parameters)
            #expect(error["message"].string?.contains("has wrong type") == true, "\(error)")
        }
        try await served.stop()
    }

    @Test func theFirstDigitsNameADownload() async throws {
        let served = try await ServedHome.start()
        for (name, gid) in [
            ("a", #","gid":"2089b05ecca3d829""#), ("b", #","gid":"2089c05ecca3d829""#), ("c", ""),
        ] {
            _ = try served.call(
                "aria2.addUri", #"[["http://127.0.0.1:9/\#(name)"],{"pause":"true"\#(gid)}]"#)
        }
        func gid(_ prefix: String) throws -> JSONValue {
            let found = try served.call("aria2.tellStatus", #"["\#(prefix)",["gid"]]"#)
            return found.has("gid") ? found["gid"] : found["message"]
        }
        #expect(try gid("2089b") == "2089b05ecca3d829")
        #expect(try gid("2089C05") == "2089c05ecca3d829")
        #expect(try gid("3") == "0000000000000003")
        #expect(try gid("000000000") == "0000000000000003")
        for several in ["2", "2089"] {
            #expect(try gid(several).string?.contains("is not unique") == true, "\(several)")
        }
        for none in ["2089d", "9", "ffff", "0000000000000000"] {
            #expect(try gid(none).string?.contains("is not found") == true, "\(none)")
        }
        try await served.stop()
    }

    @Test func urlsTellWhetherTheyAreUsed() async throws {
        try await LoopbackServer.run { server in
            let served = try await ServedHome.start()
            let url = server.url("a.bin?size=10K")
            let mirror = server.url("b.bin?size=10K")
            let added = try served.call(
                "aria2.addUri", #"[["\#(url)","\#(mirror)"],{"pause":"true"}]"#)
            func statuses() throws -> [String?] {
                try served.call("aria2.getUris", #"["\#(added.string ?? "")"]"#).items
                    .map { $0["status"].string }
            }
            #expect(try statuses() == ["waiting", "waiting"])
            _ = try served.call("aria2.unpauseAll")
            try await eventually("it completes") {
                try served.call("aria2.getGlobalStat")["numStopped"] == "1"
            }
            #expect(try statuses() == ["used", "waiting"])
            try await served.stop()
        }
    }

    /// The keys that AriaNg shows of a download and in its settings.
    @Test func optionsAreTold() async throws {
        let served = try await ServedHome.start()
        let added = try served.call(
            "aria2.addUri",
            #"[["http://127.0.0.1:9/a"],{"pause":"true","split":"3","max-download-limit":"5K"}]"#)
        let plain = try served.call("aria2.addUri", #"[["http://127.0.0.1:9/b"],{"pause":"true"}]"#)
        func option(_ gid: JSONValue) throws -> JSONValue {
            try served.call("aria2.getOption", #"["\#(gid.string ?? "")"]"#)
        }
        let chosen = try option(added)
        #expect(chosen["split"] == "3" && chosen["max-connection-per-server"] == "3")
        #expect(chosen["max-download-limit"] == "5120" && chosen["out"] == "a")
        for options in [try option(plain), try served.call("aria2.getGlobalOption")] {
            for key in [
                "dir", "split", "max-connection-per-server", "max-download-limit", "max-tries",
                "min-split-size", "lowest-speed-limit", "continue", "allow-overwrite",
                "check-integrity", "force-save", "stream-piece-selector", "check-certificate",
            ] {
                #expect(options[key].string?.isEmpty == false, "\(key): \(options)")
            }
        }
        let global = try served.call("aria2.getGlobalOption")
        #expect(global["max-overall-download-limit"] == "0")
        #expect(global["max-concurrent-downloads"].string.flatMap { Int($0) } ?? 0 > 0)
        try await served.stop()
    }

    /// Clients delete the path that is told: it is never that of another file.
    @Test func onlyAnOwnFileIsTold() async throws {
        let home = try LonghaulHome()
        for name in ["old.bin", "kept.bin"] {
            try Data("mine".utf8).write(to: URL(filePath: home.file(name)))
        }
        let served = try await ServedHome.start(home)
        func path(_ options: String) throws -> JSONValue {
            let gid = try served.call(
                "aria2.addUri", #"[["http://127.0.0.1:9/a.bin"],{"pause":"true",\#(options)}]"#)
            return try served.call("aria2.tellStatus", #"["\#(gid.string ?? "")"]"#)["files"][0][
                "path"]
        }
        #expect(try path(#""split":"1""#) == "")
        #expect(try path(#""out":"b.bin""#) == .string(home.file("b.bin")))
        #expect(try path(#""out":"old.bin","allow-overwrite":"true""#) == "")
        // What is not overwritten is given another name, as with aria2.
        let free = home.file("kept (1).bin")
        #expect(try path(#""out":"kept.bin","allow-overwrite":"false""#) == .string(free))
        try await served.stop()
    }
}

/// Notices, and the search in what has ended.
@Suite struct NoticeTests {
    private typealias Look = RPCNotices.Look

    private static func look(_ states: [Int64: TransferState], after: Int64) -> Look {
        Look(
            transfers: Dictionary(
                uniqueKeysWithValues: states.map { id, state in
                    let id = TransferID(rawValue: id)
                    return (id, Look.Seen(gid: GID.text(id, chosen: nil), state: state))
                }), after: after)
    }

    private static func end(_ id: Int64, _ type: String, at sequence: Int64) -> EventHub.News {
        EventHub.News(
            lines: [
                EventHub.News.Line(
                    sequence: sequence, session: "default", type: type,
                    transfer: TransferID(rawValue: id), gid: nil, json: [])
            ], through: sequence)
    }

    /// `Start 1` for each notice.
    private static func short(_ notices: [String]) -> [String] {
        notices.map { notice in
            let name = notice.split(separator: "onDownload")[1].prefix { $0 != "\"" }
            let gid = notice.split(separator: "\"gid\":\"")[1].prefix { $0 != "\"" }
            return "\(name) \(gid.last ?? "?")"
        }
    }

    @Test func aStartComesBeforeItsEnd() {
        var notices = RPCNotices()
        // Before anything was seen.
        #expect(
            Self.short(notices.ends(Self.end(1, "transferCompleted", at: 1)))
                == ["Start 1", "Complete 1"])
        #expect(notices.changes(to: Self.look([2: .waiting, 3: .running], after: 1)).isEmpty)
        // It has run and ended between two looks.
        #expect(
            Self.short(notices.ends(Self.end(2, "transferFailed", at: 2)))
                == ["Start 2", "Error 2"])
        // It was seen.
        #expect(
            Self.short(notices.ends(Self.end(3, "transferCompleted", at: 3))) == ["Complete 3"])
        #expect(Self.short(notices.ends(Self.end(4, "transferCancelled", at: 4))) == ["Stop 4"])
    }

    /// A look that is older than an end that was told.
    @Test func noStartComesAfterItsEnd() {
        var notices = RPCNotices()
        #expect(notices.changes(to: Self.look([1: .waiting], after: 0)).isEmpty)
        #expect(Self.short(notices.ends(Self.end(1, "transferCompleted", at: 5))).count == 2)
        #expect(notices.changes(to: Self.look([1: .running], after: 4)).isEmpty)
        // It was taken up again since then.
        #expect(
            Self.short(notices.changes(to: Self.look([1: .running], after: 5))) == ["Start 1"])
        #expect(
            Self.short(notices.changes(to: Self.look([1: .paused], after: 5))) == ["Pause 1"])
    }

    @Test(arguments: [
        ("/d/a.bin", "%A.bin", true), ("/d/a.bin", "/d/_.bin", true), ("/d/a.bin", "a", false),
        ("abab", "%ab%ab%", true), ("abab", "%abab_", false), ("", "%%", true), ("", "_", false),
        ("aXbXc", "a%b%c", true), ("ab", "a_b", false), ("äb", "Ä_", true),
        (String(repeating: "x", count: 200), "%" + String(repeating: "x", count: 130), true),
        (String(repeating: "x", count: 127), String(repeating: "_", count: 128), false),
        (String(repeating: "x", count: 128), String(repeating: "_", count: 128), true),
    ])
    func patterns(text: String, pattern: String, matches: Bool) throws {
        #expect(try LikePattern(pattern).matches(text) == matches)
    }

    @Test func aPatternIsBounded() {
        #expect(throws: LonghaulError.self) {
            try LikePattern(String(repeating: "a", count: 1025))
        }
    }
}
