import Foundation
import LonghaulTestSupport
import Testing

/// What cannot be: places that are full, taken or read-only, credentials that would leave their
/// origin.
@Suite(.timeLimit(.minutes(60))) struct FailureTests {
    private static let isRoot = geteuid() == 0

    @Test(.enabled(if: isRoot, "skipped: mounting a tmpfs needs root"))
    func aFullDiskFailsGetAndKeepsTheBytes() async throws {
        let home = try LonghaulHome()
        let mount = try OwnDisk(memory: "4m", at: home.scratch("tiny"))
        defer { mount.unmount() }
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=6M&etag=v1&nolength")
            let file = home.scratch("tiny/a.bin")
            let result = try await home.run("get", "--json", url, "-o", file)
            #expect(result.status == 1)
            let transfer = try #require(try result.rows.last)
            #expect(transfer["error"]["code"] == "noSpace")
            let kept = try #require(transfer["error"]["bytesKept"].int)
            #expect(kept > 2 << 20)
            try mount.remount("size=16m")
            #expect(try await home.run("resume", "1").status == 0)
            #expect(try await home.run("run").status == 0)
            try server.expected(url).verify(file: file)
        }
    }

    @Test(.enabled(if: isRoot, "skipped: mounting a tmpfs needs root"))
    func aReadOnlyPlaceIsRefused() async throws {
        let home = try LonghaulHome()
        let mount = try OwnDisk(memory: "1m,ro", at: home.scratch("tiny"))
        defer { mount.unmount() }
        let result = try await home.run(
            "enqueue", "--json", "http://127.0.0.1:1/a", "-o", home.scratch("tiny/a"))
        #expect(result.status == 5)
        #expect(try result.rows.last?["error"]["code"] == "permission")
    }

    @Test func whatExistsIsNotReplaced() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=10K")
            let file = home.file("a.bin")
            try Data("mine".utf8).write(to: URL(fileURLWithPath: file))
            #expect(try await home.run("get", "-q", url, "-o", file).status == 5)
            #expect(
                try await home.run("get", "-q", url, "-o", file, "--if-exists", "skip").status == 0)
            #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == Data("mine".utf8))
            let renamed = try await home.run("get", "-q", url, "-o", file, "--if-exists", "rename")
            #expect(renamed.output.contains("a (1).bin"))
            let replaced = try await home.run(
                "get", "-q", url, "-o", file, "--if-exists", "overwrite")
            #expect(replaced.status == 0)
            try server.expected(url).verify(file: file)
        }
    }

    /// Decided again at the end: what came into being meanwhile is kept, and nothing has failed.
    @Test func whatComesMeanwhileIsSkipped() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=600K&stall=300K&etag=v1")
            let file = home.file("a.bin")
            let get = try home.start("get", url, "-o", file, "--if-exists", "skip")
            try await eventually("it runs") { try !home.scratch.names(in: "files").isEmpty }
            try Data("mine".utf8).write(to: URL(fileURLWithPath: file))
            server.goOn()
            let result = try await get.wait()
            #expect(result.status == 0, "\(result)")
            #expect(result.output == file + "\n")
            #expect(result.errors.contains("exists already, skipped"))
            #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == Data("mine".utf8))
            #expect(try home.scratch.names(in: "files") == ["a.bin"])
            let transfer = try #require(try await home.run("show", "1", "--json").rows.first)
            #expect(transfer["state"] == "completed")
            #expect(transfer["error"]["code"] == "destinationExists")
            let events = try await home.run("events").rows
            #expect(events.map { $0["type"] } == ["transferCompleted"])
            #expect(events.first?["detail"]["code"] == "destinationExists")
            #expect(try await home.run("wait", "1").status == 0)
            // Nothing of it is there to be reused.
            let again = ["get", "-q", url, "-o", home.file("b.bin"), "--reuse"]
            #expect(try await home.start(again).wait().status == 0)
            try server.expected(url).verify(file: home.file("b.bin"))
        }
    }

    /// The bytes are there, and need not be fetched again.
    @Test(arguments: ["overwrite", "rename", "skip"])
    func whatCameMeanwhileCanBeDecidedOn(policy: String) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=600K&stall=300K&etag=v1")
            let file = home.file("a.bin")
            let get = try home.start("get", url, "-o", file)
            try await eventually("it runs") { try !home.scratch.names(in: "files").isEmpty }
            try Data("mine".utf8).write(to: URL(fileURLWithPath: file))
            server.goOn()
            let result = try await get.wait()
            #expect(result.status == 1, "\(result)")
            #expect(result.errors.contains("set --if-exists"), "\(result)")
            #expect(try await home.run("set", "1", "--if-exists", policy).status == 0)
            #expect(try await home.run("resume", "1", "--no-start").status == 0)
            #expect(try await home.run("run").status == 0)
            let transfer = try #require(try await home.run("show", "1", "--json").rows.first)
            #expect(transfer["state"] == "completed")
            #expect(transfer["bytesFetched"].int == 600 * 1_024)
            let names = policy == "rename" ? ["a (1).bin", "a.bin"] : ["a.bin"]
            #expect(try home.scratch.names(in: "files").sorted() == names)
            if policy != "overwrite" {
                #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == Data("mine".utf8))
            }
            if policy != "skip" { try server.expected(url).verify(file: home.file(names[0])) }
        }
    }

    /// A name that no file can have, and a pipe, which is no file: refused whatever is said of what
    /// exists, and the pipe is left alone, at the end as well.
    @Test(arguments: ["fail", "skip", "overwrite", "rename"])
    func whatIsNoFileIsRefused(policy: String) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let long = String(repeating: "n", count: 256)
            let url = server.url("a.bin?size=600K&stall=300K")
            #expect(mkfifo(home.file("pipe"), 0o600) == 0)
            for (name, target) in [("full", "/dev/full"), ("out", "/proc/self/fd/1")] {
                #expect(symlink(target, home.file(name)) == 0)
            }
            for (name, says) in [
                (long, "has 256 bytes"), ("pipe", "a pipe"), ("/dev/null", "a device"),
                ("full", "a device"), ("out", "a device"),
            ] {
                let result = try await home.run("get", url, "-o", name, "--if-exists", policy)
                #expect(result.status == 64, "\(result)")
                #expect(result.errors.contains(says), "\(result)")
                #expect(!result.errors.contains("overwrite"), "\(result)")
                #expect(result.output == "")
            }
            #expect(try home.scratch.names(in: "files") == ["full", "out", "pipe"])
            if policy != "overwrite" { return }
            let late = try home.start("get", url, "-o", "late", "--if-exists", policy)
            try await eventually("it runs") {
                try home.scratch.names(in: "files").count == 4
            }
            #expect(mkfifo(home.file("late"), 0o600) == 0)
            server.goOn()
            let result = try await late.wait()
            #expect(result.status == 1)
            #expect(result.errors.contains("a device, a pipe or a socket"), "\(result)")
            var facts = stat()
            #expect(stat(home.file("late"), &facts) == 0 && facts.st_mode & S_IFMT == S_IFIFO)
        }
    }

    /// A name of 256 bytes anywhere in a path, and a path that is too long as a whole with what is
    /// put to its name while it is fetched.
    @Test func aPathThatIsTooLongIsRefused() async throws {
        let home = try LonghaulHome()
        let long = String(repeating: "n", count: 256)
        let deep = String(repeating: "0123456789abcdef/", count: 250)
        let nearly = String(home.file(deep).prefix(4095 - 35))
        for (place, says) in [
            (["-o", "\(long)/x"], "has 256 bytes"), (["-o", "a/\(long)/b/x"], "has 256 bytes"),
            (["-d", long], "has 256 bytes"), (["-d", "a/b/\(long)"], "has 256 bytes"),
            (["-d", deep], "bytes, and at most 4060"), (["-o", nearly + "x"], "has 4061 bytes"),
        ] {
            let result = try await home.start(["enqueue", "http://127.0.0.1:9/f"] + place).wait()
            #expect(result.status == 64, "\(result)")
            #expect(result.errors.contains(says) && result.errors.utf8.count < 400, "\(result)")
            #expect(result.output == "")
        }
        #expect(try home.scratch.names(in: "files").isEmpty)
        #expect(try await home.run("enqueue", "http://127.0.0.1:9/f", "-o", nearly).status == 0)
    }

    /// The longest that is taken can be fetched to its end.
    @Test func theLongestPathIsFetched() async throws {
        let home = try LonghaulHome()
        let deep = String(repeating: "0123456789abcdef/", count: 250)
        let path = String(home.file(deep).prefix(4095 - 35 - 1)) + "x"
        try await LoopbackServer.run { server in
            let result = try await home.run("get", server.url("a.bin?size=60K"), "-o", path)
            #expect(result.status == 0, "\(result)")
        }
        #expect(FileManager.default.fileExists(atPath: path))
    }

    /// A link to nowhere as a directory, or above one, or with a slash behind it: what it leads to
    /// may be on a disk that is away, and is not made.
    @Test(arguments: ["link", "link/", "link/below", "link/below/more"])
    func aLinkToNowhereIsRefused(directory: String) async throws {
        let home = try LonghaulHome()
        #expect(symlink("nowhere", home.file("link")) == 0)
        for place in [["-d", directory], ["-o", directory + "/x"]] {
            let result = try await home.start(["enqueue", "http://127.0.0.1:9/f"] + place).wait()
            #expect(result.status == 5, "\(result)")
            #expect(
                result.errors.contains("/link is a symbolic link to what is not there"),
                "\(result)")
            #expect(result.output == "")
        }
        #expect(try home.scratch.names(in: "files") == ["link"])
    }

    /// It was there when the transfer was recorded.
    @Test func aLinkThatHasComeToLeadNowhere() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            _ = try home.scratch.directory("files/there")
            #expect(symlink("there", home.file("link")) == 0)
            let url = server.url("a.bin?size=60K")
            #expect(try await home.run("enqueue", url, "-d", "link").status == 0)
            #expect(rmdir(home.file("there")) == 0)
            _ = try await home.run("run")
            let error = try await home.run("show", "1", "--json").rows[0]["error"]
            #expect(error["code"] == "io")
            #expect(
                error["message"].string?.contains("/link is a symbolic link to what is not there")
                    == true, "\(error)")
            _ = try home.scratch.directory("files/there")
            #expect(try await home.run("resume", "1").status == 0)
            #expect(try await home.run("run").status == 0)
            #expect(FileManager.default.fileExists(atPath: home.file("there/a.bin")))
        }
    }

    /// A host could be asked for another URL; without one the transfer fails, and the log is to say
    /// that and not that anybody is waited for.
    @Test func theLogTellsWhatBecameOfIt() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=10K&status=404")
            #expect(
                try await home.run("enqueue", "--no-start", url, "-o", home.file("a")).status == 0)
            let run = try await home.with(["LONGHAUL_LOG": "info"]).run("run")
            #expect(run.errors.contains("warning longhaul: failed"), "\(run)")
            #expect(!run.errors.contains("needs input"), "\(run)")
            #expect(run.errors.contains("failed=1"), "\(run)")
        }
    }

    @Test func credentialsStayWithTheirOrigin() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { other in
            try await LoopbackServer.run { server in
                let target = other.url("b.bin?size=10K")
                let url = server.url(
                    "a.bin?redirect=\(PercentCoding.encode(target))")
                let result = try await home.run(
                    "get", "-q", url, "-o", home.file("a.bin"), "--user", "me:secret", "--header",
                    "X-Key: secret")
                #expect(result.status == 0, "\(result.errors)")
                #expect(server.log.all.first?["Authorization"] != nil)
                #expect(server.log.all.first?["X-Key"] == "secret")
                #expect(other.log.all.count == 1)
                #expect(other.log.all.first?["Authorization"] == nil)
                #expect(other.log.all.first?["X-Key"] == nil)
            }
        }
    }

    /// Nor do those of netrc, which has its entries by hosts alone.
    @Test func credentialsOfNetrcStayWithTheirOrigin() async throws {
        let home = try LonghaulHome()
        try home.scratch.write("machine 127.0.0.1 login me password secret\n", to: ".netrc")
        try await LoopbackServer.run { other in
            try await LoopbackServer.run { server in
                let target = PercentCoding.encode(other.url("b.bin?size=10K"))
                let here = PercentCoding.encode(server.url("c.bin?size=10K"))
                for (index, place) in [target, here].enumerated() {
                    let result = try await home.run(
                        "get", "-q", "--netrc", server.url("a.bin?redirect=\(place)"), "-o",
                        home.file("\(index)"))
                    #expect(result.status == 0, "\(result.errors)")
                }
                let sent = "Basic bWU6c2VjcmV0"
                #expect(server.log.all.map { $0["Authorization"] } == [sent, sent, sent])
                #expect(other.log.all.map { $0["Authorization"] } == [nil])
                // A mirror's own entry is for it.
                let mirrored = try await home.run(
                    "get", "-q", "--netrc", server.url("d.bin?status=404"), "--mirror",
                    other.url("e.bin?size=10K"), "-o", home.file("d.bin"))
                #expect(mirrored.status == 0, "\(mirrored.errors)")
                #expect(other.log.all.map { $0["Authorization"] } == [nil, sent])
            }
        }
    }

    /// Nobody is asked for it, on a terminal or elsewhere: standard input stays open here.
    @Test(.enabled(if: TestAuthority.isInstalled, "skipped: no openssl"))
    func aKeyWithAPassphraseIsRefused() async throws {
        let home = try LonghaulHome()
        let client = try await TestAuthority.make(in: home.scratch).client
        let key = home.scratch("locked.key")
        let locked = try await CLIProcess.run(
            "/usr/bin/env",
            ["openssl", "pkey", "-in", client.key, "-aes256", "-passout", "pass:x", "-out", key])
        #expect(locked.status == 0, "\(locked.errors)")
        try await LoopbackServer.run { server in
            let url = server.url("a.bin").replacingOccurrences(of: "http:", with: "https:")
            // A shell hands on the pipe, and keeps it open for as long as the command runs.
            let piped = home.through(["/bin/sh", "-c", "sleep 1000 | \"$0\" \"$@\"; kill 0"])
            let get = try piped.start(
                "get", "--json", url, "-o", home.file("a"), "--cert", client.certificate,
                "--key", key)
            try await eventually("it has ended; \(get.output)\(get.errors)") {
                get.output.contains("bytesKept")
            }
            let error = try JSONValue.lines(get.output).last?["error"]
            #expect(error?["curlCode"] == 58, "\(get.output)")
            #expect(error?["message"].string?.contains("passphrase") == true)
            #expect(!get.errors.contains("PEM"))
            get.sendToGroup(SIGKILL)
        }
    }
}
