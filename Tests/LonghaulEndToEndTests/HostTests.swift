import Foundation
import LonghaulTestSupport
import Testing

/// Hosts that are shell scripts, started by the built command: good ones and bad ones.
@Suite(.timeLimit(.minutes(60))) struct HostTests {
    @Test func theSampleIsStartedOnceForABatch() async throws {
        let hosts = try HostHome()
        let album = try hosts.home.scratch.directory("album")
        try await hosts.run(
            ["host", "add", HostHome.host, "--", HostHome.sample, album])
        try await LoopbackServer.run { server in
            let urls = (1...5).map { server.url("p\($0).jpg?size=10K&seed=\($0)") }
            try await hosts.run(["enqueue", "--session", "s", "--host", HostHome.host] + urls)
            try await hosts.run(["run"])
            for (number, url) in urls.enumerated() {
                try server.expected(url).verify(file: "\(album)/p\(number + 1).jpg")
            }
        }
        let launches = try await hosts.show()["launches"]
        #expect(launches[0]["handed"] == 6)
        #expect(launches[0]["ending"] == "exited")
        #expect(launches[1]["id"].int == nil)
        #expect(try await hosts.waitingEvents() == 0)
    }

    /// What the documentation shows is what runs.
    @Test(
        arguments: [
            ("docs/events.md", "album.sh"),
            ("docs/background-tasks.md", "feed.sh"),
        ])
    func theSampleIsShown(page: String, name: String) throws {
        let sample = try String(contentsOfFile: Fixture.path("hosts/\(name)"), encoding: .utf8)
        let root = HostHome.sample.replacingOccurrences(of: "/Fixtures/hosts/album.sh", with: "")
        let text = try String(contentsOfFile: "\(root)/\(page)", encoding: .utf8)
        #expect(text.contains("```sh\n\(sample)```"))
    }

    @Test(.enabled(if: NginxServer.isInstalled, "skipped: no nginx"))
    func tenThousandCompletionsInOneLaunch() async throws {
        let hosts = try HostHome()
        let root = try Scratch("completions")
        try root.write("a photo", to: "p.jpg")
        let nginx = try await NginxServer.start(root: root.path)
        defer { Task { await nginx.stop() } }
        try await hosts.add(body: "cat > $D/got; env > $D/env")
        // One for all: when nothing more will come.
        try await hosts.run(["session", "set", "s", "--launch-delay", "10m"])
        let input = (1...10_000).map { nginx.http("p.jpg?\($0)") + "\n  out=files/\($0)\n" }
        try await hosts.run(
            ["enqueue", "-d", hosts.home.scratch.path, "-", "--session", "s"],
            input: input.joined())
        try await hosts.run(["run"], within: .seconds(240))
        let got = try hosts.lines("got").map { try JSONValue.lines($0)[0] }
        #expect(got.map { $0["seq"].int } == Array(1...10_001))
        #expect(Set(got.compactMap { $0["transferID"].int }) == Set(1...10_000))
        #expect(got.count { $0["type"].string == "transferCompleted" } == 10_000)
        #expect(got.last?["type"].string == "sessionFinished")
        for number in 1...10_000 {
            #expect(try hosts.home.scratch.text(of: "files/\(number)") == "a photo")
        }
        #expect(hosts.lines("started").count == 1)
        #expect(try await hosts.waitingEvents() == 0)
        let environment = hosts.lines("env")
        #expect(environment.contains("LONGHAUL_SESSION=s"))
        #expect(environment.contains("LONGHAUL_LAUNCH_REASON=session-events"))
        #expect(environment.contains("LONGHAUL_HOME=\(hosts.home.state)"))
    }

    /// Its time is over: it is asked to end, and killed with all that it started, in its group or
    /// out of it.
    @Test func aHostThatHangs() async throws {
        let hosts = try HostHome()
        try await hosts.add(
            "--event-budget", "1s",
            body: """
                trap '' TERM
                sleep 1000 & echo $! > $D/child
                setsid sleep 1000 & echo $! > $D/runaway
                while :; do sleep 1; done
                """)
        try await hosts.makeEvents(1)
        let started = ContinuousClock.now
        try await hosts.run(["run"])
        let seconds = (ContinuousClock.now - started) / .seconds(1)
        #expect(seconds > 5.5 && seconds < 30)
        let launch = try await hosts.launch()
        #expect(launch["ending"] == "expired")
        #expect(try await hosts.show()["failures"] == 1)
        #expect(try await hosts.waitingEvents() == 2)
        for name in ["child", "runaway"] {
            let pid = try #require(hosts.lines(name).first.flatMap { pid_t($0) })
            try await eventually("\(name) is gone") { HostHome.isGone(pid) }
        }
    }

    @Test func aHostThatEndsWhenAsked() async throws {
        let hosts = try HostHome()
        try await hosts.add(
            "--event-budget", "300ms", body: "trap 'exit 0' TERM; while :; do sleep 0.05; done")
        try await hosts.makeEvents(1)
        try await hosts.run(["run"])
        // Whoever says so in time has dealt with it.
        #expect(try await hosts.launch()["ending"] == "exited")
        #expect(try await hosts.waitingEvents() == 0)
    }

    @Test func aHostThatFloodsItsOutput() async throws {
        let hosts = try HostHome()
        try await hosts.add(
            body: """
                yes 'more and more' | head -c 12000000
                echo the end; echo trouble >&2
                """)
        try await hosts.makeEvents(1)
        try await hosts.run(["run"])
        let launch = try await hosts.launch()
        let output = try #require(launch["output"].string)
        #expect(output.utf8.count <= 17_000)
        #expect(output.contains("the end\n"))
        #expect(output.contains("trouble\n"))
        #expect(launch["status"] == 0)
        #expect(try hosts.streams().isEmpty)
    }

    /// What it has acknowledged itself is not handed over again; the rest is, later and later.
    @Test func aHostThatFails() async throws {
        let hosts = try HostHome()
        try await hosts.add(
            body: """
                jq .seq > $D/got
                [ $(wc -l < $D/started) -gt 1 ] && exit 0
                \(BuiltBinary.longhaul) events --ack-one 2
                exit 3
                """)
        try await hosts.makeEvents(3)
        try await hosts.run(["run", "--max-time", "2s"])
        var host = try await hosts.show()
        #expect(host["state"] == "delayed")
        #expect(host["failures"] == 1)
        #expect(host["launches"][0]["status"] == 3)
        #expect(try await hosts.waitingEvents() == 3)
        #expect(hosts.lines("started").count == 1)
        try await saysWhenItIsNextStarted(hosts)
        try await hosts.run(["host", "reset", HostHome.host])
        try await hosts.run(["run", "--max-time", "20s"])
        #expect(hosts.lines("got") == ["1", "3", "4"])
        host = try await hosts.show()
        #expect(host["failures"] == 0)
        #expect(host["state"] == "idle")
        #expect(try await hosts.waitingEvents() == 0)
    }

    /// An engine that does nothing else says when it wakes up for it; without one nobody does.
    private func saysWhenItIsNextStarted(_ hosts: HostHome) async throws {
        #expect(try await hosts.status()["nextWake"] == .null)
        let daemon = try hosts.home.start("daemon")
        try await eventually("it knows") {
            let next = try await hosts.show()["nextLaunch"]
            return try await hosts.status()["nextWake"] == next
        }
        #expect(try await hosts.show()["nextLaunch"] != .null)
        let text = try await hosts.run(["status"]).output
        #expect(text.contains("Next wake:"), "\(text)")
        daemon.send(SIGTERM)
        #expect(try await daemon.wait().status == 0)
    }

    /// Events that wait for more of them are a reason to wake up as well.
    @Test func theNextWakeIsTheEndOfABatch() async throws {
        let hosts = try HostHome()
        try await hosts.add(body: "cat > $D/got")
        try await hosts.run(["session", "set", "s", "--launch-delay", "1h"])
        try await hosts.run([
            "enqueue", "--no-start", "http://127.0.0.1:9/later", "--session", "s",
            "--earliest", "+3h", "-o", hosts.home.file("later"),
        ])
        let daemon = try hosts.home.start("daemon")
        try await eventually("the transfer is the next thing") {
            guard let wake = try await hosts.status()["nextWake"].string else { return false }
            let begin = try await hosts.transfer(1)["earliestBegin"].string
            return wake == begin
        }
        try await hosts.run([
            "enqueue", "http://127.0.0.1:9/f", "--session", "s", "-o", hosts.home.file("f"),
        ])
        try await hosts.run(["cancel", "2"])
        try await eventually("the batch is") {
            let next = try await hosts.show()["nextLaunch"]
            let wake = try await hosts.status()["nextWake"]
            return next != .null && next == wake
        }
        daemon.send(SIGTERM)
        #expect(try await daemon.wait().status == 0)
        #expect(hosts.lines("started").isEmpty)
    }

    @Test func aHostThatIsNotThereOrIsReplaced() async throws {
        let hosts = try HostHome()
        try await hosts.add(body: "exit 0")
        try FileManager.default.removeItem(atPath: hosts.script)
        try await hosts.makeEvents(1)
        try await hosts.run(["run"])
        #expect(try await hosts.show()["obstacle"] == "missing")
        #expect(try await hosts.show()["failures"] == 0)
        try hosts.write("exit 0")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o644], ofItemAtPath: hosts.script)
        #expect(try await hosts.show()["obstacle"] == "notExecutable")
        try await hosts.run(["host", "remove", HostHome.host])
        try await hosts.run(["host", "show", HostHome.host], status: 4)
        try await hosts.run(["run"])
        #expect(try await hosts.waitingEvents() == 2)
        // Whoever gets the name gets the events.
        try await hosts.run(["host", "add", HostHome.host, "--", "/bin/cat"])
        try await hosts.run(["run"])
        #expect(try await hosts.waitingEvents() == 0)
        #expect(try await hosts.launch()["output"].string?.contains("sessionFinished") == true)
    }

    @Test func aProgramThatIsNoProgram() async throws {
        let hosts = try HostHome()
        try await hosts.add(body: "")
        try hosts.home.scratch.write("\u{7F}nonsense", to: "host.sh")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755], ofItemAtPath: hosts.script)
        try await hosts.makeEvents(1)
        try await hosts.run(["run", "--max-time", "2s"])
        let launch = try await hosts.launch()
        #expect(launch["status"] == 127)
        #expect(launch["output"].string?.contains("cannot be run") == true)
        #expect(try await hosts.waitingEvents() == 2)
        try await hosts.run(["host", "add", "x", "--", "relative"], status: 64)
        try await hosts.run(["host", "add", "../x", "--", "/bin/true"], status: 64)
        try await hosts.run(["session", "set", "s", "--host", "nobody"], status: 4)
        let words = ["enqueue", "http://127.0.0.1:9/f", "--session", "s", "--host", "nobody"]
        let refused = try await hosts.run(words, status: 5)
        let owner = "the session belongs to host \(HostHome.host); "
        #expect(refused.errors.hasSuffix("\(owner)`session set --host` changes that\n"))
    }

    @Test func eventsThatAreOffWait() async throws {
        let hosts = try HostHome()
        try await hosts.add(body: "exit 0")
        try await hosts.run(["session", "set", "s", "--launch-events", "off"])
        try await hosts.makeEvents(1)
        try await hosts.run(["run"])
        #expect(hosts.lines("started").isEmpty)
        try await hosts.run(["session", "set", "s", "--launch-events", "on"])
        try await hosts.run(["run"])
        #expect(hosts.lines("started").count == 1)
    }
}
