import Foundation
import LonghaulTestSupport
import Testing

/// Bundles over HTTP.
@Suite struct BundleRouteTests {
    @Test func aBundleIsShownAndChanged() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let line = #"{"path":"x","url":"\#(server.url("x?size=2K"))"}"#
            try line.write(
                toFile: home.file("list.jsonl"), atomically: true, encoding: .utf8)
            let added = try await home.run(
                "bundle", "add", "set", "list:\(home.file("list.jsonl"))", "--to",
                home.file("out"))
            #expect(added.status == 0, "\(added.errors)")
            let served = try await ServedHome.start(home)
            try await eventually("it is ready") {
                try served.send("GET", "/v1/bundles/set").json["state"] == "ready"
            }
            #expect(try served.send("GET", "/v1/bundles").json["bundles"][0]["name"] == "set")
            #expect(try served.send("POST", "/v1/bundles/set/pause").json["state"] == "paused")
            #expect(try served.send("POST", "/v1/bundles/set/resume").status == 200)
            #expect(try served.send("POST", "/v1/bundles/other/check").status == 404)
        }
    }

    @Test func aServerThatOnlyReadsChangesNone() async throws {
        let home = try LonghaulHome()
        let served = try await ServedHome.start(home, "--read-only")
        #expect(try served.send("POST", "/v1/bundles/set/ensure").status == 403)
    }
}
