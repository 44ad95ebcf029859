import Foundation
import Longhaul
import LonghaulTestSupport
import Testing

/// Watched folders from Swift.
@Suite(
    .timeLimit(.minutes(60)), .enabled(if: UploadServer.isInstalled, "skipped: no python3"))
struct FolderManagerTests {
    @Test func whatAppearsIsSentAndMoved() async throws {
        let home = try SessionHome()
        let server = try await UploadServer.start()
        let (inbox, done) = (home.file("in"), home.file("done"))
        for directory in [inbox, done] {
            try FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: true)
        }
        var request = TransferRequest(url: try #require(URL(string: server.url("plain/"))))
        request.uploadProtocol = .put
        let folders = try await FolderManager(store: home.store)
        try await folders.add(
            "in", watching: inbox, with: request, settle: 0.2, excluding: ["*.log"],
            ending: .move(to: done))
        for name in ["a", "b.log"] {
            try name.write(to: inbox.appending(path: name), atomically: true, encoding: .utf8)
        }
        try await eventually("it is moved") {
            FileManager.default.fileExists(atPath: done.appending(path: "a").path)
        }
        #expect(server.has("a") && !server.has("b.log"))
        try await eventually("it is counted") {
            let status = try await folders.status(of: "in")
            return status.uploaded == 1 && status.waiting == 0
        }
        try await folders.pause("in")
        #expect(try await folders.statuses().map(\.state) == [.paused])
        try "c".write(to: inbox.appending(path: "c"), atomically: true, encoding: .utf8)
        try await folders.resume("in")
        try await eventually("c is there") { server.has("c") }
        try await folders.scan("in")
        try await folders.remove("in")
        await #expect(throws: LonghaulError.self) { try await folders.status(of: "in") }
    }

    @Test func whatCannotBeWatchedIsRefused() async throws {
        let home = try SessionHome()
        let request = TransferRequest(url: try #require(URL(string: "http://127.0.0.1:9/d/")))
        let folders = try await FolderManager(store: home.store, engine: .external)
        let missing = await #expect(throws: LonghaulError.self) {
            try await folders.add("f", watching: home.file("none"), with: request)
        }
        #expect(missing?.code == .conflict)
        let unknown = await #expect(throws: LonghaulError.self) { try await folders.scan("f") }
        #expect(unknown?.code == .noSuchFolder)
    }
}
