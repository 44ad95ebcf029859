import Foundation
import LonghaulTestSupport
import Testing

/// The bytes of a transfer in order, as they come: `cat`, and `get -o -`.
@Suite(.timeLimit(.minutes(60))) struct StreamTests {
    /// Runs a shell command, in which `$L` is the command.
    private func shell(_ home: LonghaulHome, _ command: String) throws -> CLIProcess {
        var environment = home.environment
        environment["L"] = try BuiltBinary.longhaul
        return try CLIProcess(
            "/bin/bash", ["-c", command], environment: environment,
            directory: home.scratch("files"))
    }

    private func enqueue(
        _ home: LonghaulHome, _ url: String, _ options: [String] = []
    ) async throws {
        let result = try await home.start(
            ["enqueue", url, "-o", home.file("a.bin")] + options
        ).wait()
        #expect(result.status == 0, "\(result.errors)")
    }

    private func state(_ home: LonghaulHome) async throws -> String? {
        try await home.run("show", "1", "--json").rows.first?["state"].string
    }

    private func size(_ path: String) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
    }

    /// Neither the transfer nor its file is there any more.
    private func expectNothingLeft(_ home: LonghaulHome) async throws {
        let streams = home.state + "/streams"
        #expect(try FileManager.default.contentsOfDirectory(atPath: streams).isEmpty)
        #expect(try await home.run("list", "--all", "--json").rows.isEmpty)
        try await eventually("no reader is left") {
            try await home.stored("SELECT * FROM reader").isEmpty
        }
    }

    // MARK: - get -o -

    /// Another program has made the pipe non-blocking for all that have it.
    @Test func aPipeThatDoesNotBlock() async throws {
        let home = try LonghaulHome()
        let script = """
            import fcntl, os, sys, time
            pipe = os.pipe()
            fcntl.fcntl(pipe[1], fcntl.F_SETFL, os.O_WRONLY | os.O_NONBLOCK)
            child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ,
                file_actions=[(os.POSIX_SPAWN_DUP2, pipe[1], 1)])
            os.close(pipe[1])
            time.sleep(1)
            with os.fdopen(pipe[0], "rb") as stream: data = stream.read()
            open("out", "wb").write(data)
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            """
        try Data(script.utf8).write(to: URL(fileURLWithPath: home.file("pass.py")))
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?seed=5&size=3M&etag=v1")
            let result = try await shell(
                home, "python3 pass.py $L get -o - '\(url)' < /dev/null"
            ).wait()
            #expect(result.status == 0, "\(result.errors)")
            try server.expected(url).verify(file: home.file("out"))
        }
    }

    @Test(arguments: [
        "size=3M&etag=v1", "size=3M&etag=v1&cut=1M&cuts=2", "size=3M&cut=1M&cuts=1",
        "size=3M&etag=v1&ignorerange&cut=1M&cuts=1", "size=1M&nolength", "size=20K", "size=0",
        "size=3M&etag=v1&stall=1M&stalls=1",
    ])
    func allBytesComeInOrder(knobs: String) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?seed=5&" + knobs)
            let result = try await shell(
                home, "$L get -o - --connections 4 --stall-timeout 1s '\(url)' > out"
            ).wait()
            #expect(result.status == 0, "\(result.errors)")
            try server.expected(url).verify(file: home.file("out"))
            try await expectNothingLeft(home)
        }
    }

    /// What was written is of one version, and ends where the other one begins.
    @Test(arguments: ["", "&noranges", "&ignorerange"])
    func aChangedFileEndsIt(knobs: String) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url(
                "a.bin?size=6M&etag=v1&rate=8M&cut=4M&cuts=1&changeafter=1\(knobs)")
            let result = try await shell(home, "$L get -o - '\(url)' > out").wait()
            #expect(result.status == 1 && result.errors.contains("begun anew"))
            let count = size(home.file("out"))
            #expect(count > 0 && count <= 4 << 20)
            try server.expected(url).verify(0..<count, of: home.file("out"))
            try await expectNothingLeft(home)
        }
    }

    @Test func aWrongDigestEndsItWithAnError() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let digest = String(repeating: "0", count: 64)
            let result = try await home.run(
                "get", "-o", "-", "--checksum", "sha256:\(digest)", server.url("a.bin?size=2M"))
            #expect(result.status == 1 && result.errors.contains("sha256"), "\(result.errors)")
            try await expectNothingLeft(home)
        }
    }

    @Test func ctrlCAndAReaderThatLeavesLeaveNothing() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=64M&etag=v1&rate=4M")
            let left = try await shell(
                home, "$L get -q -o - '\(url)' | head -c 1000 > out; exit ${PIPESTATUS[0]}"
            ).wait()
            #expect(left.status == 1 && left.errors.isEmpty, "\(left.errors)")
            #expect(size(home.file("out")) == 1000)
            try await expectNothingLeft(home)
            let get = try shell(home, "exec $L get -o - '\(url)' > out2")
            try await eventually("bytes come") { size(home.file("out2")) > 0 }
            get.send(SIGINT)
            #expect(try await get.wait().status == 130)
            try await expectNothingLeft(home)
            // Killed, it leaves what the next one finds.
            let killed = try shell(home, "exec $L get -o - '\(url)' > out3")
            try await eventually("bytes come") { size(home.file("out3")) > 0 }
            killed.send(SIGKILL)
            _ = try await killed.wait()
            #expect(
                try await home.run("get", "-o", "-", server.url("b.bin?size=1K")).status == 0)
            _ = try await home.run("clean", "--older-than", "0s")
            try await expectNothingLeft(home)
        }
    }

    @Test func itIsRefusedWhereItMakesNoSense() async throws {
        let home = try LonghaulHome()
        let url = "http://127.0.0.1:9/a"
        for words in [
            ["get", "-o", "-", "--json", url], ["get", "-o", "-", url, url],
            ["enqueue", "-o", "-", url], ["cat", "1", "--from", "-1"],
        ] {
            #expect(try await home.start(words).wait().status == 64, "\(words)")
        }
        #expect(try await home.run("cat", "7").status == 4)
        #expect(try await home.run("list", "--all", "--json").rows.isEmpty)
    }

    @Test(.enabled(if: NginxServer.isInstalled, "skipped: no nginx"))
    func tarUnpacksItAsItComes() async throws {
        let home = try LonghaulHome()
        let root = try Scratch()
        let nginx = try await NginxServer.start(root: root.path)
        let file = Representation(size: 9 << 20, seed: 3)
        try file.write(to: root("big.bin"))
        let packed = try await shell(home, "tar -C '\(root.path)' -cf '\(root("a.tar"))' big.bin")
            .wait()
        #expect(packed.status == 0, "\(packed.errors)")
        let result = try await shell(
            home, "$L get -o - '\(nginx.http("a.tar"))' | tar -x"
        ).wait()
        #expect(result.status == 0, "\(result.errors)")
        try file.verify(file: home.file("big.bin"))
    }

    // MARK: - cat

    /// The second one begins in the middle, before its bytes have come.
    @Test func twoReadersOutliveTheEngine() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=12M&etag=v1&seed=2&rate=6M")
            try await enqueue(home, url, ["--earliest", "+2h", "--connections", "4"])
            let engine = try home.start("daemon")
            let all = try shell(home, "$L cat 1 > all")
            let rest = try shell(home, "$L cat 1 --from 5000000 > rest")
            try await eventually("bytes come") { size(home.file("all")) > 1 << 20 }
            engine.send(SIGKILL)
            _ = try await engine.wait()
            let next = try home.start("daemon")
            for reader in [all, rest] {
                let result = try await reader.wait()
                #expect(result.status == 0, "\(result.errors)")
            }
            try server.expected(url).verify(file: home.file("all"))
            let same = try await shell(home, "cmp <(tail -c +5000001 all) rest").wait()
            #expect(same.status == 0, "\(same.output)")
            try server.expected(url).verify(file: home.file("a.bin"))
            // Of a completed one, all of it at once.
            let again = try await shell(home, "$L cat 1 | cmp - a.bin").wait()
            #expect(again.status == 0, "\(again.errors)")
            next.send(SIGTERM)
            _ = try await next.wait()
        }
    }

    /// With no engine one is started.
    @Test func itStartsAnEngine() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=2M&etag=v1")
            try await enqueue(home, url, ["--require", "power"])
            let starting = home.with([
                "LONGHAUL_AUTOSTART": "1", "LONGHAUL_CONDITIONS": "power=battery",
            ])
            let result = try await shell(starting, "$L cat 1 > out").wait()
            #expect(result.status == 0, "\(result.errors)")
            try server.expected(url).verify(file: home.file("out"))
            let pid = try await home.run("status", "--json").rows.first?["engine"]["pid"].int
            if let pid { kill(pid_t(pid), SIGTERM) }
        }
    }

    /// All of the file has come, and the reader has taken a little: what it has not taken is in the
    /// file, not in memory. It is taken at about 100 KB/s.
    @Test func memoryIsBoundedWithASlowReader() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=192M&etag=v1")
            try await enqueue(home, url)
            let engine = try home.start("daemon")
            let made = try await shell(home, "mkfifo pipe").wait()
            #expect(made.status == 0)
            let reader = try shell(
                home,
                """
                exec < pipe; until [ -e done ]; do head -c 10000 > /dev/null; sleep 0.1; done; \
                cat > /dev/null
                """)
            let cat = try shell(home, "exec $L cat 1 > pipe")
            try await eventually("all has come") { try await state(home) == "completed" }
            let facts = try String(contentsOfFile: "/proc/\(cat.pid)/status", encoding: .utf8)
            let peak = try #require(
                facts.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }?
                    .split(separator: " ").dropFirst().first.flatMap { Int($0) })
            #expect(peak < 64 << 10, "\(peak) KiB")
            try Data().write(to: URL(fileURLWithPath: home.file("done")))
            #expect(try await cat.wait().status == 0)
            #expect(try await reader.wait().status == 0)
            engine.send(SIGTERM)
            _ = try await engine.wait()
        }
    }

    @Test func theTransferGoesOnWhenTheReaderLeaves() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=4M&etag=v1&rate=4M")
            try await enqueue(home, url)
            let engine = try home.start("daemon")
            let left = try await shell(
                home, "$L cat 1 | head -c 1000 > out; exit ${PIPESTATUS[0]}"
            ).wait()
            #expect(left.status == 1 && left.errors.isEmpty, "\(left.errors)")
            #expect(try await home.stored("SELECT * FROM reader").isEmpty)
            try await eventually("it goes on") { try await state(home) == "completed" }
            try server.expected(url).verify(file: home.file("a.bin"))
            // What was changed since is not what was fetched.
            try Data("x".utf8).write(to: URL(fileURLWithPath: home.file("a.bin")))
            let changed = try await home.run("cat", "1")
            #expect(changed.status == 1 && changed.output.isEmpty)
            #expect(changed.errors.contains("was changed since"))
            engine.send(SIGTERM)
            _ = try await engine.wait()
        }
    }

    @Test func aPausedOneWaitsAndAFailedOneDoesNot() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=2M&etag=v1")
            try await enqueue(home, url)
            _ = try await home.run("pause", "1")
            let engine = try home.start("daemon")
            let cat = try shell(home, "$L cat 1 > out")
            try await cat.waitForOutput("it is paused and waits")
            #expect(size(home.file("out")) == 0)
            _ = try await home.run("resume", "1")
            #expect(try await cat.wait().status == 0)
            try server.expected(url).verify(file: home.file("out"))
            _ = try await home.run("enqueue", server.url("b.bin?status=404&statuses=9"))
            try await eventually("it has failed") {
                try await home.run("show", "2", "--json").rows.first?["state"] == "failed"
            }
            let failed = try await home.run("cat", "2")
            #expect(failed.status == 1 && failed.errors.contains("404"), "\(failed.errors)")
            engine.send(SIGTERM)
            _ = try await engine.wait()
        }
    }

    @Test(.enabled(if: MockBus.isPossible, "skipped: needs dbus-daemon and python3-dbusmock"))
    func theMachineStaysAwake() async throws {
        let bus = try MockBus()
        let logind = try bus.service(.logind)
        defer { withExtendedLifetime(logind) {} }
        let home = try LonghaulHome().with(["DBUS_SYSTEM_BUS_ADDRESS": bus.address])
        try await enqueue(home, "http://127.0.0.1:9/a")
        let cat = try shell(home, "exec $L cat 1 --no-start > out")
        try await eventually("it stays awake") { try bus.idleLocks(1) }
        cat.send(SIGTERM)
        #expect(try await cat.wait().ending == .signalled(SIGTERM))
        try await eventually("the lock is back") { try bus.idleLocks(0) }
        #expect(try await home.stored("SELECT * FROM reader").isEmpty)
    }

    /// Nobody would get the bytes.
    @Test func aClosedOutputIsNoReader() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=10K")
            let closed = try await shell(home, "\"$L\" get -o - '\(url)' >&-").wait()
            #expect(closed.status != 0 && closed.errors.contains("is closed"), "\(closed.errors)")
            #expect(server.log.count == 0)
            let dropped = try await shell(home, "\"$L\" get -o - '\(url)' >/dev/null").wait()
            #expect(dropped.status == 0, "\(dropped.errors)")
        }
    }
}
