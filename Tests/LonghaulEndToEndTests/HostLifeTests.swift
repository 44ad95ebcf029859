import Foundation
import LonghaulTestSupport
import Testing

/// Hosts and engines that come and go, and questions that hosts answer.
@Suite(.timeLimit(.minutes(60))) struct HostLifeTests {
    /// The engine dies; the next one watches the same process on, and starts no second.
    @Test func aLaunchOutlivesItsEngine() async throws {
        let hosts = try HostHome()
        try await hosts.add(
            body: """
                cat > /dev/null
                while [ ! -e $D/go ]; do echo waiting; sleep 0.05; done
                echo "$LONGHAUL_LAUNCH_ID" >> $D/ended
                """)
        try await hosts.makeEvents(1)
        let first = try hosts.home.start("daemon")
        try await eventually("the host runs") { hosts.lines("started").count == 1 }
        first.send(SIGKILL)
        _ = try await first.wait()
        let second = try hosts.home.start("daemon")
        try await eventually("the engine runs") {
            try await hosts.run(["status", "--json"]).rows.first?["engine"]["pid"].int
                == Int(second.pid)
        }
        #expect(try await hosts.show()["state"] == "running")
        try hosts.home.scratch.write("", to: "go")
        // Its status went with its first engine: what it was handed is handed over again.
        try await eventually("all is acknowledged") {
            try await hosts.waitingEvents() == 0
        }
        let launches = try await hosts.show()["launches"]
        #expect(launches[1]["ending"] == "unknown")
        #expect(launches[0]["ending"] == "exited")
        #expect(hosts.lines("ended") == ["1", "2"])
        #expect(try await hosts.show()["failures"] == 0)
        second.send(SIGTERM)
        #expect(try await second.wait().status == 0)
    }

    /// The engine dies, and then the host: the next engine finds what they have left behind.
    @Test func aLaunchThatEndsUnseenLeavesNothing() async throws {
        let hosts = try HostHome()
        try await hosts.add(
            body: """
                cat > /dev/null
                while [ ! -e $D/go ]; do sleep 0.05; done
                """)
        try await hosts.makeEvents(1)
        let first = try hosts.home.start("daemon")
        try await eventually("the host runs") { hosts.lines("started").count == 1 }
        first.send(SIGKILL)
        _ = try await first.wait()
        let pid = try #require(try await hosts.launch()["pid"].int)
        try hosts.home.scratch.write("", to: "go")
        try await eventually("it ends") { HostHome.isGone(pid_t(pid)) }
        #expect(try hosts.streams() == ["launch-1.err", "launch-1.out"])
        let second = try hosts.home.start("daemon")
        try await eventually("all is acknowledged") { try await hosts.waitingEvents() == 0 }
        #expect(try hosts.streams().isEmpty)
        second.send(SIGTERM)
        #expect(try await second.wait().status == 0)
    }

    /// A process was made, and there is no descriptor to watch it by.
    @Test(.enabled(if: Strace.isInstalled, "skipped: no strace"))
    func aProcessThatCannotBeWatchedIsReaped() async throws {
        let hosts = try HostHome()
        try await hosts.add(body: "cat > /dev/null")
        try await hosts.makeEvents(1)
        let failing = hosts.home.through(Strace.inject("pidfd_open", "error=EMFILE:when=1"))
        let engine = try failing.start("daemon")
        try await eventually("it was tried") {
            try await hosts.launch()["ending"] == "notStarted"
        }
        let pid = try #require(try await hosts.status()["engine"]["pid"].int)
        #expect(HostHome.zombies(of: pid_t(pid)).isEmpty)
        #expect(try hosts.streams().isEmpty)
        #expect(hosts.lines("started").isEmpty)
        kill(pid_t(pid), SIGTERM)
        try await engine.wait()
    }

    /// Whoever started the engine ignores the ends of its processes, and the engine would inherit
    /// that: it would never learn how a host has ended.
    @Test func endsAreSeenWhereOthersIgnoreThem() async throws {
        let hosts = try HostHome()
        try await hosts.add(body: "cat > /dev/null")
        try await hosts.makeEvents(1)
        let deaf = hosts.home.through(["/usr/bin/env", "--ignore-signal=CHLD"])
        let engine = try deaf.start("daemon")
        try await eventually("all is acknowledged") {
            try await hosts.waitingEvents() == 0
        }
        #expect(hosts.lines("started").count == 1)
        #expect(try await hosts.launch()["ending"] == "exited")
        engine.send(SIGTERM)
        #expect(try await engine.wait().status == 0)
    }

    /// A host that is there by itself is not started, until it goes away.
    @Test func attachedHostsAreNotStarted() async throws {
        let hosts = try HostHome()
        try await hosts.add(body: "exit 0")
        let attached = try hosts.home.start(
            "events", "--follow", "--attach", "--session", "s", "--unacknowledged")
        try await eventually("attached") {
            try await hosts.show()["state"] == "attached"
        }
        let daemon = try hosts.home.start("daemon")
        try await hosts.makeEvents(2)
        try await attached.waitForOutput("sessionFinished")
        #expect(hosts.lines("started").isEmpty)
        #expect(try await hosts.show()["state"] == "attached")
        attached.send(SIGKILL)
        _ = try await attached.wait()
        try await eventually("it is started") {
            hosts.lines("started").count == 1
        }
        try await eventually("all is acknowledged") { try await hosts.waitingEvents() == 0 }
        daemon.send(SIGTERM)
        _ = try await daemon.wait()
    }

    /// A signed link expires at half: its host gives another, and the bytes are kept.
    @Test(arguments: [true, false]) func anExpiredLink(byAnswer: Bool) async throws {
        let hosts = try HostHome()
        try await LoopbackServer.run { server in
            let content = "x.bin?size=2M&etag=v1&seed=3"
            let url = server.url(content + "&cut=1M&cuts=1&status=403&statusafter=1")
            let fresh = server.url(content + "&needheader=X-Key:k")
            let id = "$(jq -r 'select(.type == \"input\") | .transfer.id' $D/got | head -n 1)"
            let command = try BuiltBinary.longhaul
            let answer =
                byAnswer
                ? #"printf '{"transfer":%s,"action":"use","url":"\#(fresh)","#
                    + #""headers":{"X-Key":"k"}}\n' \#(id)"#
                : "\(command) set \(id) --url '\(fresh)' --header 'X-Key: k'"
            try await hosts.add(
                body: """
                    cat >> $D/got
                    echo $LONGHAUL_LAUNCH_REASON >> $D/reasons
                    [ $LONGHAUL_LAUNCH_REASON = session-events ] || \(answer)
                    """)
            try await hosts.run(
                ["enqueue", url, "-o", hosts.home.file("x.bin"), "--session", "s"])
            try await hosts.run(["run"])
            try server.expected(url).verify(file: hosts.home.file("x.bin"))
            // The refusal's own words, and the overlap that proves another address the same file.
            #expect(server.log.bodyBytesSent() <= (2 << 20) + (65 << 10))
        }
        #expect(hosts.lines("reasons") == ["input-needed", "session-events"])
        let types = try hosts.lines("got").map { try JSONValue.lines($0)[0]["type"].string }
        #expect(types == ["input", "transferNeedsInput", "transferCompleted", "sessionFinished"])
        let need = try JSONValue.lines(hosts.lines("got")[1])[0]
        #expect(need["detail"]["reason"] == "expired")
        #expect(need["detail"]["error"]["httpStatus"] == 403)
        #expect(need["transfer"]["state"] == "waiting")
        #expect(need["transfer"]["waitingFor"][0]["reason"] == "input")
        #expect(try await hosts.waitingEvents() == 0)
    }

    @Test func withoutAnAnswerItStaysWaiting() async throws {
        let hosts = try HostHome()
        try await LoopbackServer.run { server in
            try await hosts.add(body: "cat > /dev/null")
            try await hosts.run(["enqueue", server.url("x?status=404"), "--session", "s"])
            try await hosts.run(["run"])
            let transfer = try #require(try await hosts.run(["show", "--json", "1"]).rows.first)
            #expect(transfer["state"] == "waiting")
            #expect(transfer["waitingFor"][0]["reason"] == "input")
            // Asked once, not over and over.
            #expect(hosts.lines("started").count == 1)
            try await hosts.run(["cancel", "1"])
            try await hosts.run(["run"])
            #expect(hosts.lines("started").count == 2)
            // Nobody to ask: it has failed.
            try await hosts.run(["enqueue", server.url("y?status=404"), "--session", "other"])
            try await hosts.run(["run"], status: 1)
            #expect(try await hosts.run(["show", "--json", "2"]).rows.first?["state"] == "failed")
        }
    }

    /// At once, after 1 s, after 2 s, after 4 s.
    @Test func anAnswerThatDoesNotHelpIsTriedMoreAndMoreRarely() async throws {
        let hosts = try HostHome()
        try await LoopbackServer.run { server in
            try await hosts.add(
                body: #"cat > /dev/null; echo '{"transfer":1,"action":"continue"}'"#)
            try await hosts.run(["enqueue", server.url("x?status=404"), "--session", "s"])
            try await hosts.run(["run", "--max-time", "4s"])
            #expect((2...4).contains(hosts.lines("started").count))
            #expect((2...4).contains(server.log.count))
        }
    }

    @Test(arguments: ["continue", "cancel", "use", "nothing"])
    func beforeADelayedTransferBegins(action: String) async throws {
        let hosts = try HostHome()
        try await LoopbackServer.run { server in
            let other = server.url("other?size=5K&seed=9")
            let answer =
                switch action {
                case "use": #"{"transfer":1,"action":"use","url":"\#(other)"}"#
                case "nothing": "I do not know."
                default: #"{"transfer":1,"action":"\#(action)"}"#
                }
            try await hosts.add(
                "--event-budget", "1s",
                body: """
                    cat >> $D/got
                    echo $LONGHAUL_LAUNCH_REASON >> $D/reasons
                    [ $LONGHAUL_LAUNCH_REASON = session-events ] || echo '\(answer)'
                    """)
            try await hosts.run(["session", "set", "s", "--ask-before-start", "on"])
            let url = server.url("asked?size=5K&seed=1")
            try await hosts.run(
                [
                    "enqueue", url, "-o", hosts.home.file("f"), "--session", "s", "--earliest",
                    "+1s",
                ])
            try await hosts.run(["run"])
            let state = try await hosts.run(["show", "--json", "1"]).rows.first?["state"].string
            #expect(state == (action == "cancel" ? "cancelled" : "completed"))
            if action != "cancel" {
                try server.expected(action == "use" ? other : url)
                    .verify(file: hosts.home.file("f"))
            }
        }
        #expect(hosts.lines("reasons").first == "input-needed")
        #expect(
            try JSONValue.lines(hosts.lines("got")[0])[0]["reason"] == "delayedRequest")
        #expect(try await hosts.waitingEvents() == 0)
    }

    /// Live, and without asking meanwhile.
    @Test func following() async throws {
        let hosts = try HostHome()
        let follower = try hosts.home.start("events", "--follow")
        try await Task.sleep(for: .milliseconds(300))
        try await hosts.makeEvents(2)
        try await follower.waitForOutput("sessionFinished")
        let seqs = try JSONValue.lines(follower.output).map { $0["seq"].int }
        #expect(seqs == [1, 2, 3])
        try await hosts.run(["events", "--ack", "2", "--session", "s"])
        let left = try await hosts.run(["events", "--unacknowledged"]).rows.map { $0["seq"].int }
        #expect(left == [3])
        try await hosts.run(["events", "--ack-one", "9"], status: 4)
        follower.send(SIGINT)
        #expect(try await follower.wait().status == 130)
    }
}
