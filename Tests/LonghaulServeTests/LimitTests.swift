import Foundation
import LonghaulTestSupport
import Testing

/// The rate limit of all transfers that is set without a file and a signal.
@Suite struct LimitTests {
    /// Set over HTTP, it slows what runs, and is what the command shows.
    @Test func whatIsSetOverHTTPHoldsAtOnce() async throws {
        try await LoopbackServer.run { server in
            let served = try await ServedHome.start()
            let unset = try served.send("GET", "/v1/limit").json
            #expect(unset["rateLimit"] == .null && unset["configured"] == .null, "\(unset)")
            let url = server.url("big.bin?size=400M&rate=8M")
            _ = try served.send("POST", "/v1/transfers", #"{"url":"\#(url)"}"#)
            func rate() throws -> Int {
                try served.send("GET", "/v1/transfers/1").json["bytesPerSecond"].int ?? 0
            }
            try await eventually("it is fast") { try rate() > 1 << 20 }
            let set = try served.send("PUT", "/v1/limit", #"{"rate":"64K","for":"1h"}"#)
            #expect(set.status == 200, "\(set)")
            #expect(try set.json["rateLimit"]["bytesPerSecond"] == 65_536)
            #expect(try set.json["rateLimit"]["until"].string != nil)
            try await eventually("it is slow") {
                let now = try rate()
                return now > 0 && now < 200 << 10
            }
            let status = try await served.home.run("status")
            #expect(status.output.contains("Limit:      64.0 KiB/s until "), "\(status.output)")
            let shown = try await served.home.run("show", "1")
            #expect(shown.output.contains("Limit:         64.0 KiB/s until "), "\(shown.output)")
            let off = try await served.home.run("limit", "off", "--json")
            #expect(try off.rows[0]["rateLimit"]["bytesPerSecond"] == .null)
            #expect(try off.rows[0]["rateLimit"].has("until"))
            try await eventually("it is fast again") { try rate() > 1 << 20 }
            try await served.stop()
        }
    }

    /// It is in the store: the next engine has it, until it is given back to the configuration.
    @Test func itHoldsForLaterEngines() async throws {
        try await LoopbackServer.run { server in
            let home = try LonghaulHome()
            let set = try await home.run("limit", "64K", "--for", "2h")
            #expect(set.output.hasPrefix("Limit: 64.0 KiB/s until "), "\(set.output)")
            let served = try await ServedHome.start(home)
            let status = try served.send("GET", "/v1/status").json
            #expect(status["rateLimit"]["bytesPerSecond"] == 65_536, "\(status)")
            let url = server.url("big.bin?size=400M&rate=8M")
            _ = try served.send("POST", "/v1/transfers", #"{"url":"\#(url)"}"#)
            try await eventually("it has moved for some seconds") {
                try served.send("GET", "/v1/transfers/1").json["bytesDone"].int ?? 0 > 200 << 10
            }
            let rate = try served.send("GET", "/v1/transfers/1").json["bytesPerSecond"].int ?? 0
            #expect(rate < 400 << 10, "\(rate)")
            let back = try served.send("PUT", "/v1/limit", #"{"rate":null}"#).json
            #expect(back["rateLimit"] == .null)
            #expect(try await home.run("limit").output == "Limit: none\n")
            try await served.stop()
        }
    }

    /// A limit that has ended is none.
    @Test func itEnds() async throws {
        let home = try LonghaulHome()
        #expect(try await home.run("limit", "1M", "--for", "1s").status == 0)
        try await eventually("it ends") {
            try await home.run("limit").output == "Limit: none\n"
        }
    }

    @Test(arguments: [
        #"{}"#, #"{"rate":0}"#, #"{"rate":"fast"}"#, #"{"rate":"1M","for":"0s"}"#,
        #"{"rate":null,"for":"1h"}"#, #"{"rate":"1M","odd":1}"#, "",
    ])
    func badLimitsAreRefused(body: String) async throws {
        let served = try await ServedHome.start()
        #expect(try served.send("PUT", "/v1/limit", body).status == 400)
        #expect(try served.send("GET", "/v1/limit").json["rateLimit"] == .null)
        try await served.stop()
    }

    @Test(arguments: [
        ["limit", "0"], ["limit", "fast"], ["limit", "--for", "1h"],
        ["limit", "default", "--for", "1h"], ["limit", "1M", "--for", "0s"],
    ])
    func badCommandsAreRefused(words: [String]) async throws {
        let home = try LonghaulHome()
        #expect(try await home.start(words).wait().status == 64)
    }

    @Test func aReadOnlyServerSetsNone() async throws {
        let served = try await ServedHome.start(nil, "--read-only")
        #expect(try served.send("PUT", "/v1/limit", #"{"rate":"1M"}"#).status == 403)
        try await served.stop()
    }
}
