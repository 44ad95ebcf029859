import Foundation
import Glibc
import LonghaulTestSupport
import Testing

/// Watched folders, with the built command: each complete file goes up once.
@Suite(
    .serialized, .timeLimit(.minutes(60)),
    .enabled(if: UploadServer.isInstalled, "skipped: no python3"))
struct FolderTests {
    @Test func whatIsThereAndWhatComesGoesUpOnce() async throws {
        let folders = try await FolderHome()
        try folders.write("a", to: "a")
        for name in [".hidden", "b.part", "c.tmp", "d.crdownload", "e.longhaul-part"] {
            try folders.write("no", to: name)
        }
        _ = try folders.home.scratch.directory("files/in/sub")
        try folders.write("no", to: "sub/deep")
        symlink("a", folders.path("link"))
        mkfifo(folders.path("pipe"), 0o600)
        try await folders.add()
        // An engine that ends when nothing is left waits for the files to settle.
        try await folders.run("run")
        #expect(try folders.arrived == ["a": 1])
        var folder = try await folders.folder
        #expect(folder["state"] == "watching" && folder["uploaded"] == 1, "\(folder)")
        #expect(folder["waiting"] == 0 && folder["failed"] == 0 && folder["skipped"] == 0)
        #expect(folder["error"] == .null && folder["lastScan"] != .null)
        #expect(try await folders.run("list", "--session", "folder:f", "--json").rows.count == 1)
        // The next one finds it sent and unchanged.
        try await folders.run("run")
        folder = try await folders.folder
        #expect(folder["skipped"] == 1 && folder["uploaded"] == 1, "\(folder)")
        let engine = try folders.home.start("daemon")
        // Renamed into the directory, written there, and finished by another program.
        try folders.home.scratch.write("m", to: "files/moved")
        rename(folders.home.file("moved"), folders.path("moved"))
        try folders.write("w", to: "written")
        rename(folders.path("b.part"), folders.path("b"))
        try await folders.await(["a", "moved", "written", "b"])
        // Another version of a file goes up, too.
        try folders.write("other", to: "a")
        try await eventually("the new one") { folders.text("a") == "other" }
        try await folders.awaitRest(5)
        #expect(try folders.arrived == ["a": 2, "moved": 1, "written": 1, "b": 1])
        engine.send(SIGTERM)
        #expect(try await engine.wait().status == 0)
    }

    @Test func aFileIsSentWhenItsWriterHasEnded() async throws {
        let folders = try await FolderHome()
        try await folders.add()
        let engine = try folders.home.start("daemon")
        try await eventually("it is watched") { try await folders.folder["state"] == "watching" }
        let writer = open(folders.path("slow"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        #expect(write(writer, "one ", 4) == 4)
        try folders.write("x", to: "other")
        try await folders.await(["other"])
        // Several times as long as files settle.
        for number in 1...3 {
            try folders.write("x", to: "n\(number)")
            try await eventually("n\(number)") { try folders.arrived["n\(number)"] == 1 }
            #expect(try folders.arrived["slow"] == nil)
            try await eventually("slow waits") { try await folders.folder["waiting"] == 1 }
        }
        #expect(write(writer, "two", 3) == 3)
        close(writer)
        try await eventually("slow") { folders.text("slow") == "one two" }
        try await folders.awaitRest(5)
        #expect(try folders.arrived["slow"] == 1)
        engine.send(SIGTERM)
        _ = try await engine.wait()
    }

    @Test func directoriesBelowAndPatterns() async throws {
        let folders = try await FolderHome()
        _ = try folders.home.scratch.directory("files/in/one/two")
        _ = try folders.home.scratch.directory("files/in/.hid")
        for name in ["a.jpg", "one/b.jpg", "one/two/c.jpg", "one/d.txt", "one/x.part"] {
            try folders.write(name, to: name)
        }
        try folders.write("no", to: ".hid/h.jpg")
        try folders.write("no", to: "no.jpg")
        try await folders.add(
            "-r", "--include", "*.jpg", "--include", "x.part", "--exclude", "no*")
        let engine = try folders.home.start("daemon")
        try await folders.await(["a.jpg", "b.jpg", "c.jpg", "x.part"])
        _ = try folders.home.scratch.directory("files/in/fresh/deep")
        try folders.write("e", to: "fresh/deep/e.jpg")
        try await eventually("e.jpg") { try folders.arrived["e.jpg"] == 1 }
        try folders.write("f", to: "fresh/deep/f.jpg")
        try await eventually("f.jpg") { try folders.arrived["f.jpg"] == 1 }
        try await folders.awaitRest(6)
        let paths = try folders.server.log.compactMap { $0["path"].string }
        #expect(paths.contains { $0.hasSuffix("plain/one/two/c.jpg") }, "\(paths)")
        engine.send(SIGTERM)
        _ = try await engine.wait()
        // The same patterns choose for `upload -r`, which leaves out no names by itself.
        let url = folders.server.url("plain/up/")
        let sent = try await folders.run(
            "upload", "-r", "--no-start", "--include", "*.jpg", "--exclude", "one/two/", "in", url)
        #expect(sent.errors.contains("6 queued"), "\(sent.errors)")
        try await folders.run("upload", "--include", "*", "in/a.jpg", url, status: 64)
    }

    @Test func lostNoticesHaveAllReadAgain() async throws {
        let bound = try String(
            contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8)
        let events = try #require(Int(bound.trimmingCharacters(in: .whitespacesAndNewlines)))
        guard events <= 100_000 else { return }
        let folders = try await FolderHome()
        try await folders.add()
        let engine = try folders.home.start("daemon")
        try await eventually("it is watched") { try await folders.folder["lastScan"] != .null }
        engine.send(SIGSTOP)
        // Each is two notices of a name that is left out.
        for _ in 0...events / 2 {
            close(open(folders.path(".x"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600))
            unlink(folders.path(".x"))
        }
        try folders.write("a", to: "a")
        engine.send(SIGCONT)
        try await folders.await(["a"])
        engine.send(SIGTERM)
        _ = try await engine.wait()
    }

    /// The command that adds the folder knows the keys, the engine does not.
    @Test(.needsPythonServers) func toABucket() async throws {
        let folders = try await FolderHome()
        let server = try await S3Server.start()
        _ = try folders.home.scratch.directory("files/in/sub")
        for name in ["a", "sub/b"] { try folders.write(name, to: name) }
        let added = try await folders.home.with(server.environment).run(
            "folder", "add", "f", "in", "s3://bucket/new/", "-r", "--settle", "0.2s", "--after",
            "delete")
        #expect(added.status == 0, "\(added.errors)")
        try await folders.run("run")
        #expect(Set(try await server.content.objects.keys) == ["new/a", "new/sub/b"])
        #expect(try await folders.folder["url"] == "s3://bucket/new/")
        #expect(!folders.has("in/a") && !folders.has("in/sub/b"))
    }

    @Test func aFolderThatIsGoneFailsAndComesBack() async throws {
        let folders = try await FolderHome()
        try folders.write("a", to: "a")
        try await folders.add()
        let engine = try folders.home.start("daemon")
        try await folders.await(["a"])
        rename(folders.home.file("in"), folders.home.file("away"))
        try await eventually("it has failed") { try await folders.folder["state"] == "failed" }
        let error = try await folders.folder["error"]
        #expect(error["message"].string?.contains("is gone") == true, "\(error)")
        #expect(try await folders.run("folder", "why", "f").output.contains("is gone"))
        #expect(try await folders.run("doctor").output.contains("BAD  folders"))
        try folders.home.scratch.write("b", to: "files/away/b")
        rename(folders.home.file("away"), folders.home.file("in"))
        try await folders.await(["a", "b"])
        try folders.write("c", to: "c")
        try await folders.await(["a", "b", "c"])
        try await folders.awaitRest(3)
        #expect(try await folders.folder["state"] == "watching")
        engine.send(SIGTERM)
        _ = try await engine.wait()
    }

    /// Transfers that have failed because the folder was gone are repeated when it is back.
    @Test func whatWaitedWhileTheFolderWasGoneIsSent() async throws {
        let folders = try await FolderHome()
        try folders.write("a", to: "a")
        try await folders.add("--require", "power")
        func run(_ power: String) async throws -> Int32 {
            let home = folders.home.with(["LONGHAUL_CONDITIONS": "power=\(power)"])
            return try await home.run("run").status
        }
        #expect(try await run("battery") == 0)
        #expect(try await folders.folder["waiting"] == 1)
        rename(folders.home.file("in"), folders.home.file("away"))
        #expect(try await run("external") == 1)
        #expect(try await folders.folder["failed"] == 1)
        rename(folders.home.file("away"), folders.home.file("in"))
        #expect(try await run("external") == 0)
        let folder = try await folders.folder
        #expect(folder["failed"] == 0 && folder["uploaded"] == 1, "\(folder)")
        #expect(try folders.arrived == ["a": 1])
    }

    @Test func aFileThatChangesOnItsWayIsSentAgain() async throws {
        let folders = try await FolderHome()
        try folders.write(String(repeating: "1", count: 4_000_000), to: "a")
        try await folders.add("--limit-rate", "1M")
        let engine = try folders.home.start("daemon")
        try await eventually("it is on its way") {
            try await folders.run("list", "--json").rows.contains { $0["state"] == "running" }
        }
        try folders.write("2", to: "a")
        try await eventually("the other version") { folders.text("a") == "2" }
        try await folders.awaitRest(1)
        // The failed one was replaced.
        #expect(try await folders.folder["failed"] == 0)
        engine.send(SIGTERM)
        _ = try await engine.wait()
    }

    @Test func whatFailsIsTriedAgainByAScan() async throws {
        let folders = try await FolderHome()
        try folders.write("a", to: "a")
        try await folders.add(query: "?status=403")
        try await folders.run("run", status: 1)
        #expect(try await folders.folder["failed"] == 1)
        #expect(try await folders.run("folder", "why", "f").output.contains("403"))
        // Not by itself: it has not changed.
        try await folders.run("run")
        #expect(try await folders.folder["failed"] == 1)
        try await folders.run("folder", "scan", "f", "--no-start")
        #expect(try await folders.folder["state"] == "scanning")
        try await folders.run("run")
        let folder = try await folders.folder
        #expect(folder["failed"] == 0 && folder["uploaded"] == 1, "\(folder)")
    }

    @Test func pausedNothingIsLookedFor() async throws {
        let folders = try await FolderHome()
        try await folders.add()
        let engine = try folders.home.start("daemon")
        try await eventually("it is watched") { try await folders.folder["lastScan"] != .null }
        let paused = try await folders.run("folder", "pause", "f", "--json").rows
        #expect(paused[0]["state"] == "paused")
        try folders.write("a", to: "a")
        // Another folder is served meanwhile.
        _ = try folders.home.scratch.directory("files/other")
        try folders.home.scratch.write("o", to: "files/other/o")
        try await folders.run(
            "folder", "add", "g", "other", folders.server.url("plain/"), "--settle", "0.2s",
            "--protocol", "put")
        try await folders.await(["o"])
        let rows = try await folders.run("folder", "list", "--json").rows
        #expect(rows.map { $0["name"] } == ["f", "g"] && rows[0]["state"] == "paused")
        try await folders.run("folder", "resume", "f", "--no-start")
        try await folders.await(["o", "a"])
        try await folders.run("folder", "remove", "f")
        try await folders.run("folder", "show", "f", status: 4)
        try folders.write("b", to: "b")
        try folders.home.scratch.write("p", to: "files/other/p")
        try await folders.await(["o", "a", "p"])
        engine.send(SIGTERM)
        _ = try await engine.wait()
    }

    @Test func addAgainReplaces() async throws {
        let folders = try await FolderHome()
        try folders.write("a", to: "a")
        try folders.write("b.x", to: "b.x")
        try await folders.add("--include", "a")
        try await folders.run("run")
        #expect(try folders.arrived == ["a": 1])
        try await folders.add()
        try await folders.run("run")
        var arrived = try folders.arrived
        #expect(arrived == ["a": 1, "b.x": 1], "\(arrived)")
        // To another URL everything goes up again.
        let url = folders.server.url("plain/other/")
        try await folders.run(
            "folder", "add", "f", "in", url, "--settle", "0.2s", "--protocol", "put")
        try await folders.run("run")
        arrived = try folders.arrived
        #expect(arrived == ["a": 2, "b.x": 2], "\(arrived)")
        #expect(try await folders.folder["url"].string == url)
    }

    @Test func refusals() async throws {
        let folders = try await FolderHome()
        let url = "http://127.0.0.1:9/d/"
        try folders.home.scratch.write("file", to: "files/file")
        for (words, status, message) in [
            (["f", "nowhere", url], 5, "there is no directory"),
            (["f", "file", url], 5, "there is no directory"),
            (["f", "in", url, "--after", "move=nowhere"], 5, "there is no directory"),
            (["f", "in", url, "--after", "move=/proc"], 5, "another file system"),
            (["f", "in", url, "--after", "move=in"], 64, "to where they are"),
            (["f", "in", url, "--after", "burn"], 64, "keep, delete or move=DIR"),
            (["f", "in", url, "--host", "none"], 4, "no host"),
            (["f", "in", "http://127.0.0.1:9/d"], 64, "ends in a slash"),
            (["f", "in", "nonsense"], 64, "no scheme"),
            (["f", "in", url, "--include", "[a"], 64, "without its ]"),
            (["f", "in", url, "--settle", "x"], 64, "--settle"),
            (["f", "in", url, "--settle", "2d"], 64, "--settle"),
            (["f", "in", url, "--snapshot"], 64, "complete files"),
            (["f", "in", url, "--form", "x", "--protocol", "tus"], 64, "a form"),
            ([".f", "in", url], 64, "the name of a folder"),
            (["f", "", url], 64, "the path is empty"),
        ] as [([String], Int32, String)] {
            let result = try await folders.home.start(
                ["folder", "add", "--no-start"] + words
            ).wait()
            #expect(result.status == status, "\(words): \(result.status) \(result.errors)")
            #expect(result.errors.contains(message), "\(words): \(result.errors)")
        }
        #expect(try await folders.run("folder", "list", "--json").output.isEmpty)
        for command in ["show", "why", "scan", "pause", "resume", "remove"] {
            let result = try await folders.run("folder", command, "none", "--json", status: 4)
            #expect(try result.rows[0]["error"]["code"] == "noSuchFolder", "\(command)")
        }
    }
}
