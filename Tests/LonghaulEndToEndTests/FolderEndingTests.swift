import Foundation
import Glibc
import LonghaulTestSupport
import Testing

/// What becomes of the files of a watched folder after they were sent, and what a kill costs.
@Suite(
    .serialized, .timeLimit(.minutes(60)),
    .enabled(if: UploadServer.isInstalled, "skipped: no python3"))
struct FolderEndingTests {
    @Test func onlyWhatWasSentIsDeleted() async throws {
        let folders = try await FolderHome()
        try folders.write("a", to: "a")
        try folders.write("no", to: "b.part")
        try folders.write(String(repeating: "1", count: 300_000), to: "slow")
        try await folders.add("--after", "delete", query: "?rate=100000")
        let engine = try folders.home.start("daemon")
        try await eventually("a is gone") { !folders.has("in/a") }
        #expect(folders.text("a") == "a")
        // It is replaced while its bytes are on their way: the new one stays until it was sent.
        try await eventually("it is on its way") {
            try await folders.run("list", "--json").rows.contains { $0["state"] == "running" }
        }
        try folders.home.scratch.write("2", to: "files/new")
        let writer = open(folders.home.file("new"), O_WRONLY | O_APPEND | O_CLOEXEC)
        rename(folders.home.file("new"), folders.path("slow"))
        try folders.write("c", to: "c")
        try await eventually("c is gone") { !folders.has("in/c") }
        #expect(folders.has("in/slow") && folders.text("slow") != "2")
        #expect(write(writer, "3", 1) == 1)
        close(writer)
        try await eventually("slow is gone") { !folders.has("in/slow") }
        #expect(folders.text("slow") == "23")
        #expect(folders.has("in/b.part"))
        engine.send(SIGTERM)
        _ = try await engine.wait()
    }

    @Test func whatWasSentIsDeletedAlsoByTheNextEngine() async throws {
        let folders = try await FolderHome()
        try folders.write("a", to: "a")
        try await folders.add()
        try await folders.run("run")
        #expect(folders.has("in/a"))
        try folders.write("b", to: "b")
        try await folders.add("--after", "delete")
        try await folders.run("run")
        try await eventually("both are gone") { !folders.has("in/a") && !folders.has("in/b") }
        #expect(try folders.arrived == ["a": 1, "b": 1])
    }

    @Test func filesAreMovedAndNumbered() async throws {
        let folders = try await FolderHome()
        _ = try folders.home.scratch.directory("files/in/done/sub")
        _ = try folders.home.scratch.directory("files/in/sub")
        try folders.write("old", to: "done/a.txt")
        try folders.write("a", to: "a.txt")
        try folders.write("b", to: "sub/b.txt")
        // Below a folder with -r, the place of sent files is left out.
        try await folders.add("-r", "--after", "move=in/done")
        let engine = try folders.home.start("daemon")
        try await eventually("they are moved") {
            folders.has("in/done/a (1).txt") && folders.has("in/done/sub/b.txt")
        }
        #expect(!folders.has("in/a.txt") && !folders.has("in/sub/b.txt"))
        try folders.write("c", to: "a.txt")
        try await eventually("the next one") { folders.has("in/done/a (2).txt") }
        #expect(try folders.arrived == ["a.txt": 2, "b.txt": 1])
        #expect(try folders.home.scratch.text(of: "files/in/done/a.txt") == "old")
        #expect(try folders.home.scratch.text(of: "files/in/done/a (1).txt") == "a")
        engine.send(SIGTERM)
        _ = try await engine.wait()
    }

    /// Each file that is complete is at the server in the end, and no other. A kill costs at most
    /// the plain uploads that were on the line.
    @Test(arguments: ["keep", "delete"])
    func killedAnywhere(_ ending: String) async throws {
        let environment = ProcessInfo.processInfo.environment
        let rounds = environment["LONGHAUL_KILL_ROUNDS"].flatMap { Int($0) } ?? 6
        let folders = try await FolderHome()
        var random = SeededRandom.fromEnvironment()
        try await folders.add("--after", ending)
        var names: Set<String> = []
        for round in 0..<rounds {
            for number in 0..<40 {
                let name = "f\(round)-\(number)"
                names.insert(name)
                try folders.write(name, to: ".\(name)")
                rename(folders.path(".\(name)"), folders.path(name))
            }
            try folders.write("no", to: "half\(round).part")
            let engine = try await folders.engine(sendingSomeOf: names, &random)
            engine.send(SIGKILL)
            _ = try await engine.wait()
        }
        try await folders.run("run")
        try folders.check(names, crashes: rounds)
        try await eventually("all is done") {
            ending == "keep" || !names.contains { folders.has("in/\($0)") }
        }
        let folder = try await folders.folder
        #expect(folder["waiting"] == 0 && folder["failed"] == 0, "\(folder)")
    }
}
