import Foundation
import Longhaul
import LonghaulTestSupport
import Testing

/// Sets of files from Swift.
@Suite(.timeLimit(.minutes(60))) struct BundleManagerTests {
    @Test func aSetIsEnsuredCheckedAndRemoved() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            let list = home.file("list.jsonl")
            let out = home.file("out")
            func write(_ names: [String]) throws {
                let lines = try names.map { name in
                    let content = try server.expected(name)
                    return #"{"path":"\#(name.prefix(1)).bin","url":"\#(server.url(name))","#
                        + #""size":\#(content.size),"sha256":"\#(content.sha256)"}"#
                }
                try lines.joined(separator: "\n").write(
                    to: list, atomically: true, encoding: .utf8)
            }
            try write(["a?size=30K&seed=1", "b?size=3K&seed=2"])
            let bundles = try await BundleManager(store: home.store)
            try await bundles.add("set", from: .list(list.path), to: out)
            try await within {
                try await bundles.ensureLocalAvailability(of: ["set"])
            }
            let file = try await bundles.url(for: "a.bin", in: "set")
            #expect(file == out.appending(path: "a.bin"))
            try server.expected("a?size=30K&seed=1").verify(file: file.path)
            #expect(try await bundles.status(of: "set").state == .ready)
            #expect(server.log.count == 2)

            #expect(try await within { try await bundles.checkForUpdates(of: ["set"]) } == [])
            try write(["a?size=30K&seed=1", "c?size=4K&seed=3"])
            #expect(try await within { try await bundles.checkForUpdates(of: ["set"]) } == ["set"])
            try await within {
                try await bundles.ensureLocalAvailability(
                    of: ["set"], requireLatestVersion: true)
            }
            var last: BundleStatus?
            for try await status in bundles.statusUpdates(of: "set") { last = status }
            #expect(last?.state == .ready && last?.filesLeft == 0 && last?.filesTotal == 2)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: out.path).sorted() == [
                    "a.bin", "c.bin",
                ])
            #expect(server.log.count == 3)

            try await bundles.remove("set")
            #expect(!FileManager.default.fileExists(atPath: file.path))
            await #expect(throws: LonghaulError.self) { try await bundles.status(of: "set") }
        }
    }

    @Test func whatCannotBeHadIsAnError() async throws {
        let home = try SessionHome()
        try await LoopbackServer.run { server in
            let list = home.file("list.jsonl")
            try #"{"path":"x","url":"\#(server.url("x?status=404"))"}"#.write(
                to: list, atomically: true, encoding: .utf8)
            let bundles = try await BundleManager(store: home.store)
            try await bundles.add("set", from: .list(list.path), to: home.file("out"))
            let error = await #expect(throws: LonghaulError.self) {
                try await within { try await bundles.ensureLocalAvailability(of: ["set"]) }
            }
            #expect(error?.code == .notFound)
            await #expect(throws: LonghaulError.self) {
                try await bundles.ensureLocalAvailability(of: ["other"])
            }
        }
    }
}
