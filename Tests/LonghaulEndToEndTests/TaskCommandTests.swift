import Foundation
import LonghaulTestSupport
import Testing

/// Background tasks and wake-ups of hosts that are shell scripts, asked for and seen by the built
/// command.
@Suite(.timeLimit(.minutes(60))) struct TaskCommandTests {
    @Test func aRefreshGetsItsLineAndItsEnvironment() async throws {
        let hosts = try HostHome()
        try await hosts.add("--permit", "refresh", body: "cat > $D/got; env > $D/env")
        let submitted = try await hosts.run([
            "task", "submit", "refresh", "--payload", "{\"a\":[1]}",
        ])
        #expect(
            submitted.output == "refresh (com.example.test): it begins when these are met: engine\n"
        )
        #expect(try await hosts.run(["task", "list", "--json"]).rows.count == 1)
        try await hosts.run(["run"])
        let line = try #require(try hosts.lines("got").first.map { try JSONValue.lines($0)[0] })
        #expect(hosts.lines("got").count == 1)
        #expect(line["type"] == "task" && line["identifier"] == "refresh")
        #expect(line["kind"] == "refresh" && line["trigger"] == .null && line["attempt"] == 1)
        #expect(line["payload"]["a"][0] == 1)
        let launch = try await hosts.launch()
        #expect(launch["reason"] == "task" && launch["tasks"].items == ["refresh"])
        #expect(launch["session"] == .null && launch["handed"] == 0)
        #expect(launch["ending"] == "exited")
        let deadline = try #require(launch["deadline"].string)
        let environment = hosts.lines("env")
        for variable in [
            "LONGHAUL_LAUNCH_REASON=task", "LONGHAUL_TASK=refresh", "LONGHAUL_LAUNCH_ID=1",
            "LONGHAUL_HOST=\(HostHome.host)", "LONGHAUL_HOME=\(hosts.home.state)",
        ] {
            #expect(environment.contains(variable), "\(variable)")
        }
        #expect(!environment.contains { $0.hasPrefix("LONGHAUL_SESSION=") })
        #expect(environment.contains { $0.hasPrefix("LONGHAUL_DEADLINE=\(deadline.prefix(11))") })
        #expect(try await hosts.run(["task", "list", "--json"]).rows.isEmpty)
        let done = try await hosts.task("refresh")
        #expect(done["state"] == "done" && done["runs"][0]["result"] == "success")
        #expect(try await hosts.run(["task", "show", "refresh"]).output.contains(": success\n"))
        #expect(
            try await hosts.run(["host", "show", HostHome.host]).output.contains(
                ", task, refresh: "))
    }

    /// Processing that requires power waits for it, expires without it, and comes again.
    @Test func aRequirementIsWaitedForAndLost() async throws {
        let hosts = try HostHome()
        try await hosts.run(["conditions", "--set", "power=battery,battery=40"])
        try await hosts.add(
            "--permit", "clean",
            body: "trap 'exit 3' TERM; while [ ! -e $D/go ]; do sleep 0.02; done")
        try await hosts.run([
            "task", "submit", "clean", "--kind", "processing", "--require", "power",
        ])
        let daemon = try hosts.home.start("daemon")
        try await eventually("it waits for power") {
            try await hosts.task("clean")["waitingFor"].items.map { $0["reason"] } == ["power"]
        }
        #expect(hosts.lines("started").isEmpty)
        try await hosts.run(["conditions", "--set", "power=external"])
        try await eventually("it runs") { try await hosts.task("clean")["state"] == "running" }
        try await hosts.run(["conditions", "--set", "power=battery"])
        try await eventually("it has expired") {
            try await hosts.task("clean")["runs"][0]["expiration"] == "requirement"
        }
        let expired = try await hosts.task("clean")
        #expect(expired["state"] == "waiting" && expired["failures"] == 0)
        #expect(try await hosts.show()["failures"] == 0)
        #expect(try await hosts.launch()["expiration"] == "requirement")
        try await hosts.run(["conditions", "--set", "power=external"])
        try await eventually("it runs again") { hosts.lines("started").count == 2 }
        try hosts.home.scratch.write("", to: "go")
        try await eventually("it is done") { try await hosts.task("clean")["state"] == "done" }
        try await hosts.end(daemon)
    }

    /// What a host says of a task counts, whatever its exit status.
    @Test func resultsDecideWhatComesNext() async throws {
        let hosts = try HostHome()
        try await hosts.add(
            "--permit", "refresh",
            body: """
                case $(wc -l < $D/started) in
                1) result=deferred ;; 2) result=failure ;; *) result=noData ;;
                esac
                echo "{\\"task\\":\\"refresh\\",\\"result\\":\\"$result\\"}"
                """)
        try await hosts.run(["task", "submit", "refresh"])
        let daemon = try hosts.home.start("daemon")
        try await eventually("it has failed") {
            try await hosts.task("refresh")["failures"] == 1
        }
        let failed = try await hosts.task("refresh")
        #expect(failed["runs"].items.map { $0["result"] } == ["failure", "deferred"])
        #expect(failed["waitingFor"][0]["reason"] == "backoff")
        // Its host has not: its exit status was 0.
        #expect(try await hosts.show()["failures"] == 0)
        try await hosts.run(["host", "reset", HostHome.host])
        try await eventually("it is done") { try await hosts.task("refresh")["state"] == "done" }
        #expect(try await hosts.task("refresh")["runs"][0]["result"] == "noData")
        try await hosts.end(daemon)
    }

    @Test func aFailedLaunchWaitsUntilItIsReset() async throws {
        let hosts = try HostHome()
        try await hosts.add(
            "--permit", "refresh", body: "cat > $D/got; [ $(wc -l < $D/started) -gt 1 ] || exit 3")
        try await hosts.run(["task", "submit", "refresh"])
        try await hosts.run(["run", "--max-time", "2s"])
        #expect(hosts.lines("started").count == 1)
        #expect(try await hosts.show()["state"] == "delayed")
        #expect(try await hosts.task("refresh")["failures"] == 1)
        try await hosts.run(["host", "reset", HostHome.host])
        let reset = try await hosts.task("refresh")
        #expect(
            reset["failures"] == 0 && reset["waitingFor"].items.map { $0["reason"] } == ["engine"])
        try await hosts.run(["run"])
        #expect(hosts.lines("started").count == 2)
        #expect(try await hosts.show()["failures"] == 0)
    }

    /// Never twice within the interval less the tolerance.
    @Test func aRepeatingOneKeepsItsInterval() async throws {
        let hosts = try HostHome()
        try await hosts.add("--permit", "refresh", body: "cat > /dev/null")
        try await hosts.run(["task", "submit", "refresh", "--every", "2s"])
        let daemon = try hosts.home.start("daemon")
        // The next run is a second away then.
        try await eventually("it has run four times") {
            let task = try await hosts.task("refresh")
            return task["state"] == "waiting" && task["runs"].items.count >= 4
        }
        try await hosts.end(daemon)
        let task = try await hosts.task("refresh")
        #expect(task["every"] == 2 && task["tolerance"] == 1 && task["state"] == "waiting")
        let starts = try task["runs"].items.map { run in
            try Date(
                try #require(run["startedAt"].string),
                strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        }
        for (later, earlier) in zip(starts, starts.dropFirst()) {
            #expect(later.timeIntervalSince(earlier) >= 0.998)
        }
        // Submitted anew, it goes on with its interval.
        try await hosts.run(["task", "submit", "refresh", "--every", "1h"])
        #expect(
            try await hosts.task("refresh")["waitingFor"].items.map { $0["reason"] }
                .contains("earliestBegin"))
    }

    @Test func limitsAreThoseOfTheSystem() async throws {
        let hosts = try HostHome()
        let names = (1...11).map { "c\($0)" }
        let permits = (["r1", "r2", "s"] + names).flatMap { ["--permit", $0] }
        try hosts.write("exit 0")
        try await hosts.run(["host", "add", HostHome.host] + permits + ["--", hosts.script])
        try await hosts.submit("r1")
        try await hosts.submit("r2", refusal: "tooManyPendingTaskRequests")
        try await hosts.submit("r1", "--payload", "2")
        for name in names.dropLast() { try await hosts.submit(name, "--kind", "processing") }
        try await hosts.submit("c11", "--kind", "processing", refusal: "tooManyPendingTaskRequests")
        // One that is replaced by another kind makes no room for that.
        try await hosts.submit("c1", refusal: "tooManyPendingTaskRequests")
        // Standing requests are counted apart.
        try await hosts.submit("s", "--on", "online")
        try await hosts.run(["task", "cancel", "c3"])
        try await hosts.submit("c11", "--kind", "processing")
        try await hosts.submit("other", refusal: "notPermitted")
        try await hosts.run(["host", "add", "gone", "--permit", "x", "--", "/nonexistent/x"])
        try await hosts.submit("x", refusal: "unavailable")
        let rows = try await hosts.run(["task", "list", "--json"]).rows
        #expect(rows.count == 12)
        #expect(rows.first { $0["identifier"] == "r1" }?["payload"] == 2)
        let table = try await hosts.run(["task", "list", "--host", HostHome.host]).output
        #expect(table.split(separator: "\n").count == 13)
        #expect(try await hosts.run(["task", "list", "--host", "gone", "--json"]).rows.isEmpty)
        for words in [["list"], ["cancel", "--all"]] {
            try await hosts.run(["task"] + words + ["--host", "unknown"], status: 4)
        }
        for identifier in ["a,b", "a b", ""] {
            let words = ["host", "add", "x", "--permit", identifier, "--", "/bin/true"]
            try await hosts.run(words, status: 64)
        }
        #expect(
            try await hosts.run(["task", "cancel", "--all"]).output == "12 requests cancelled\n")
    }

    /// The machine has something to do anyway.
    @Test func anOpenWindowGoesAlongWithTransfers() async throws {
        let hosts = try HostHome()
        try await hosts.add("--permit", "refresh", body: "cat > /dev/null")
        try await hosts.run(["task", "submit", "refresh", "--every", "1d", "--tolerance", "1d"])
        let daemon = try hosts.home.start("daemon")
        try await eventually("the first run is over") {
            let task = try await hosts.task("refresh")
            return task["state"] == "waiting" && task["runs"][0]["result"] == "success"
        }
        try await hosts.run(["enqueue", "http://127.0.0.1:9/f", "-o", "f"])
        try await eventually("it goes along") { hosts.lines("started").count == 2 }
        try await hosts.end(daemon)
    }

    /// Of several hosts that have the task, one has to be named.
    @Test func anAmbiguousNameIsAskedAbout() async throws {
        let hosts = try HostHome()
        try await hosts.add("--permit", "t", body: "exit 0")
        try await hosts.run(["host", "add", "other", "--permit", "t", "--", hosts.script])
        for host in [HostHome.host, "other"] {
            try await hosts.run(["task", "submit", "t", "--host", host, "--on", "boot"])
        }
        for words in [["show"], ["cancel"], ["simulate-launch"], ["simulate-expiration"]] {
            let refused = try await hosts.run(["task"] + words + ["t"], status: 5)
            #expect(refused.errors.contains("com.example.test, other"))
            #expect(refused.errors.contains("--host"))
        }
        #expect(try await hosts.run(["task", "list", "--json"]).rows.count == 2)
        try await hosts.run(["task", "show", "t", "--host", "other"])
        try await hosts.run(["task", "cancel", "t", "--host", "other"])
        let left = try await hosts.task("t")
        #expect(left["host"].string == HostHome.host)
        // Runs that are remembered are asked about, too.
        try await hosts.run(["task", "cancel", "t"])
        for host in [HostHome.host, "other"] {
            try await hosts.run(["task", "submit", "t", "--host", host])
        }
        try await hosts.run(["run"])
        try await hosts.run(["task", "show", "t"], status: 5)
        #expect(
            try await hosts.run(["task", "show", "t", "--host", "other", "--json"]).rows[0]["state"]
                == "done")
    }

    @Test func whatIsCancelledDoesNotRun() async throws {
        let hosts = try HostHome()
        try await hosts.add("--permit", "a", "--permit", "b", body: "cat > $D/got")
        try await hosts.run(["task", "submit", "a"])
        // All or none.
        try await hosts.run(["task", "cancel", "a", "b"], status: 4)
        #expect(try await hosts.run(["task", "list", "--json"]).rows.count == 1)
        try await hosts.run(["task", "cancel", "a", "a"])
        try await hosts.run(["run"])
        #expect(hosts.lines("started").isEmpty)
        try await hosts.run(["task", "show", "a"], status: 4)
    }

    /// Whatever it waits for, the back-off of its host too.
    @Test func launchesAndExpirationsAreSimulated() async throws {
        let hosts = try HostHome()
        try await hosts.add(
            "--permit", "clean", "--permit", "bad",
            body: """
                grep -q bad && exit 3
                trap 'exit 0' TERM; while :; do sleep 0.02; done
                """)
        try await hosts.run(["task", "submit", "bad"])
        try await hosts.run(["run", "--max-time", "2s"])
        #expect(try await hosts.show()["state"] == "delayed")
        try await hosts.run([
            "task", "submit", "clean", "--kind", "processing", "--earliest", "+1h", "--require",
            "battery=100",
        ])
        try await hosts.run(["task", "simulate-expiration", "clean"], status: 5)
        try await hosts.run(["task", "simulate-launch", "clean"])
        let daemon = try hosts.home.start("daemon")
        try await eventually("it runs") { try await hosts.task("clean")["state"] == "running" }
        try await hosts.run(["task", "simulate-launch", "clean"], status: 5)
        try await eventually("the trap is set") { hosts.lines("started").count == 2 }
        try await hosts.run(["task", "simulate-expiration", "clean"])
        try await eventually("it has ended") { try await hosts.launch()["ending"] != .null }
        #expect(hosts.lines("started").count == 2)
        try await hosts.end(daemon)
    }

    /// One launch for all that is due: a result for each, and the exit status for the rest.
    @Test func aLaunchCarriesSeveralTasks() async throws {
        let hosts = try HostHome()
        try await hosts.add(
            "--permit", "a", "--permit", "b", "--permit", "c",
            body: """
                cat > $D/got; env > $D/env
                echo '{"task":"a","result":"noData"}'
                echo '{"task":"b","result":"failure"}'
                echo '{"task":"nothing","result":"success"}'
                """)
        try await hosts.run(["task", "submit", "a"])
        for id in ["b", "c"] {
            try await hosts.run(["task", "submit", id, "--kind", "processing"])
        }
        try await hosts.run(["wake", HostHome.host, "--urgent"])
        try await hosts.run(["run", "--max-time", "2s"])
        #expect(hosts.lines("started").count == 1)
        let got = try hosts.lines("got").map { try JSONValue.lines($0)[0] }
        #expect(Set(got.compactMap { $0["identifier"].string }) == ["a", "b", "c"])
        #expect(got.count { $0["type"] == "wake" } == 1)
        #expect(hosts.lines("env").contains("LONGHAUL_LAUNCH_REASON=wake"))
        let names = try #require(hosts.lines("env").first { $0.hasPrefix("LONGHAUL_TASK=") })
        #expect(Set(names.dropFirst(14).split(separator: ",")) == ["a", "b", "c"])
        for (id, result) in [("a", "noData"), ("b", "failure"), ("c", "success")] {
            let task = try await hosts.task(id)
            #expect(task["runs"][0]["result"].string == result)
            #expect(task["state"] == (id == "b" ? "waiting" : "done"))
        }
    }

    @Test func theSampleTellsResults() async throws {
        let hosts = try HostHome()
        let feeds = try hosts.home.scratch.directory("feeds")
        let directory = URL(filePath: try BuiltBinary.longhaul).deletingLastPathComponent().path
        let home = hosts.home.with(["PATH": "\(directory):/usr/bin:/bin"])
        try await hosts.run([
            "host", "add", HostHome.host, "--permit", "refresh", "--permit", "clean", "--",
            Fixture.path("hosts/feed.sh"), feeds,
        ])
        try await LoopbackServer.run { server in
            let url = server.url("news.xml?size=10K")
            try hosts.home.scratch.write(url + "\n", to: "feeds/feeds.txt")
            try await hosts.run(["task", "submit", "refresh"])
            try await hosts.run(["task", "submit", "clean", "--kind", "processing"])
            try await hosts.run([
                "wake", HostHome.host, "--urgent", "--payload", #"{"feed":"http://h/new"}"#,
            ])
            let run = try await home.run("run")
            #expect(run.status == 0, "\(run.errors)")
            #expect(try await hosts.task("refresh")["runs"][0]["result"] == "success")
            #expect(try await hosts.task("clean")["runs"][0]["result"] == "noData")
            try server.expected(url).verify(file: "\(feeds)/news.xml")
            #expect(hosts.lines("feeds/feeds.txt").last == "http://h/new")
            // What it has fetched before is there.
            try hosts.home.scratch.write(url + "\n", to: "feeds/feeds.txt")
            try await hosts.run(["task", "submit", "refresh"])
            _ = try await home.run("run")
            #expect(try await hosts.task("refresh")["runs"][0]["result"] == "success")
        }
    }

    /// An engine is started as by `enqueue`, and stays for what waits.
    @Test func anEngineIsStarted() async throws {
        let hosts = try HostHome()
        try await hosts.add("--permit", "refresh", body: "cat > $D/got")
        let home = hosts.home.with(["LONGHAUL_AUTOSTART": nil])
        for arguments in [["task", "submit", "refresh"], ["wake", HostHome.host]] {
            let result = try await home.start(arguments + ["--no-start"]).wait()
            #expect(result.status == 0, "\(result.errors)")
        }
        #expect(try await hosts.status()["engine"] == .null)
        let submitted = try await home.run("task", "submit", "refresh")
        #expect(submitted.output == "refresh (com.example.test): it begins now\n")
        try await eventually("it is done") { try await hosts.task("refresh")["state"] == "done" }
        let pid = try #require(try await hosts.status()["engine"]["pid"].int)
        kill(pid_t(pid), SIGTERM)
        try await eventually("it leaves") { try await hosts.status()["engine"] == .null }
    }

    @Test func wrongInputIsRefusedAndRecordsNothing() async throws {
        let hosts = try HostHome()
        try await hosts.add("--permit", "t", body: "exit 0")
        let submit = ["task", "submit", "t"]
        let cases: [([String], Int32)] = [
            (submit + ["--kind", "odd"], 64), (submit + ["--every", "0s"], 64),
            (submit + ["--every", "366d"], 64), (submit + ["--every", "often"], 64),
            (submit + ["--tolerance", "1s"], 64),
            (submit + ["--every", "1h", "--tolerance", "2h"], 64),
            (submit + ["--every", "1h", "--on", "online"], 64), (submit + ["--on", "sunrise"], 64),
            (submit + ["--payload", "{"], 64), (submit + ["--require", "wind"], 64),
            (submit + ["--earliest", "soon"], 64), (submit + ["--when-lost", "cry"], 64),
            (submit + ["--payload", "\"\(String(repeating: "x", count: 70_000))\""], 64),
            (["task", "submit", "a b"], 64), (["task", "submit", "a,b"], 64),
            (["task", "submit"], 64), (submit + ["--host", "nobody"], 4),
            (["task", "submit", "other", "--host", HostHome.host], 5),
            (["task", "cancel"], 64), (["task", "cancel", "t", "--all"], 64),
            (["task", "cancel", "t"], 4), (["task", "show", "t"], 4),
            (["task", "simulate-launch", "t"], 4), (["task", "simulate-expiration", "t"], 4),
            (["task", "frobnicate"], 64), (["wake", "nobody"], 4), (["wake"], 64),
            (["wake", HostHome.host, "--payload", "x"], 64),
            (["wake", HostHome.host, "--expires", "never"], 64),
            (["wake", HostHome.host, "--require", "wind"], 64),
            (["host", "token", "nobody"], 4), (["host", "token"], 64),
            (["wake", HostHome.host, "--identifier", "a b"], 64),
        ]
        for (arguments, status) in cases {
            let result = try await hosts.run(arguments, status: status)
            #expect(result.output.isEmpty && result.errors.hasPrefix("longhaul: "), "\(result)")
            let json = try await hosts.run(arguments + ["--json"], status: status)
            #expect(try json.rows.last?["error"]["message"].string?.isEmpty == false)
        }
        #expect(try await hosts.home.stored("SELECT * FROM task").isEmpty)
    }
}

/// Wake-ups, the counterpart of pushes.
@Suite(.timeLimit(.minutes(60))) struct WakeCommandTests {
    @Test func thoseOfOneIdentifierAreMerged() async throws {
        let hosts = try HostHome()
        try await hosts.add(body: "cat > $D/got; env > $D/env")
        for payload in ["1", "2"] {
            try await hosts.run([
                "wake", HostHome.host, "--identifier", "mail", "--payload", payload,
            ])
        }
        try await hosts.run(["wake", HostHome.host, "--expires", "10m"])
        #expect(try await hosts.show()["nextLaunch"].string != nil)
        try await hosts.run(["run"])
        let got = try hosts.lines("got").map { try JSONValue.lines($0)[0] }
        #expect(got.map { $0["type"] } == ["wake", "wake"])
        #expect(got.first { $0["identifier"] == "mail" }?["payload"] == 2)
        #expect(got.contains { $0["identifier"] == .null && $0["payload"] == .null })
        #expect(hosts.lines("env").contains("LONGHAUL_LAUNCH_REASON=wake"))
        #expect(hosts.lines("started").count == 1)
        #expect(try await hosts.home.stored("SELECT * FROM task").isEmpty)
    }

    @Test func whatHasExpiredIsDropped() async throws {
        let hosts = try HostHome()
        try await hosts.add(body: "exit 0")
        try await hosts.run(["wake", HostHome.host, "--expires", "1s"])
        let over = Date(timeIntervalSinceNow: 1.1)
        try await eventually("it is over") { Date() > over }
        #expect(try await hosts.show()["wakeUps"][0]["state"] == "waiting")
        try await hosts.run(["run"])
        #expect(hosts.lines("started").isEmpty)
        #expect(try await hosts.home.stored("SELECT * FROM task").isEmpty)
        let wakeUp = try await hosts.show()["wakeUps"][0]
        #expect(wakeUp["state"] == "dropped" && wakeUp["droppedFor"] == "engine")
        #expect(
            try await hosts.run(["host", "show", HostHome.host]).output
                .contains(", since it expired: no engine ran in time\n"))
    }

    /// On battery a plain wake-up waits, and says so; an urgent one takes it along.
    @Test func onBatteryAWakeUpWaitsForAnUrgentOne() async throws {
        let hosts = try HostHome()
        try await hosts.add(body: "cat >> $D/got")
        try await hosts.run(["conditions", "--set", "power=battery,battery=40,saver=on"])
        let daemon = try hosts.home.start("daemon")
        try await hosts.run(["wake", HostHome.host, "--identifier", "mail"])
        try await eventually("it waits for power") {
            let waits = try await hosts.show()["wakeUps"][0]["waitingFor"].items
            return waits.map { $0["reason"] } == ["power", "saver"]
        }
        #expect(
            try await hosts.run(["host", "show", HostHome.host]).output
                .contains("waits for  external power"))
        let why = try await hosts.run(["why", HostHome.host])
        #expect(why.output.contains("wake-up mail: ") && why.output.contains("external power"))
        #expect(try await hosts.run(["why", HostHome.host, "--json"]).rows.count == 1)
        try await hosts.run(["why", "nobody"], status: 64)
        try await hosts.run(["wake", HostHome.host, "--identifier", "call", "--urgent"])
        try await eventually("both are handed over") { hosts.lines("got").count == 2 }
        #expect(hosts.lines("started").count == 1)
        try await hosts.run(["wake", HostHome.host, "--identifier", "mail", "--prefer", "none"])
        try await eventually("one without preferences comes") { hosts.lines("got").count == 3 }
        try await hosts.run(["wake", HostHome.host, "--expires", "0"])
        try await eventually("one that is now or never is dropped") {
            let wakeUp = try await hosts.show()["wakeUps"][0]
            return wakeUp["state"] == "dropped" && wakeUp["droppedFor"] == "power"
        }
        try await hosts.end(daemon)
    }

    /// Four launches are for plain wake-ups alone, and the fifth waits.
    @Test func beyondItsBudgetAHostWaits() async throws {
        let hosts = try HostHome()
        try await hosts.add(body: "cat >> $D/got")
        let daemon = try hosts.home.start("daemon")
        for count in 1...4 {
            try await hosts.run(["wake", HostHome.host, "--expires", "0"])
            try await eventually("launch \(count) has ended") {
                let launches = try await hosts.show()["launches"].items
                return launches.count == count && launches[0]["endedAt"].string != nil
            }
        }
        for payload in ["1", "2"] {
            try await hosts.run(["wake", HostHome.host, "--payload", payload])
        }
        try await eventually("it waits for the budget") {
            let waits = try await hosts.show()["wakeUps"][0]["waitingFor"].items
            return waits.map { $0["reason"] } == ["budget"]
        }
        #expect(try await hosts.show()["nextLaunch"].string != nil)
        try await hosts.run(["wake", HostHome.host, "--identifier", "call", "--urgent"])
        try await eventually("an urgent one takes it along") { hosts.lines("got").count == 6 }
        let last = try hosts.lines("got").suffix(2).map { try JSONValue.lines($0)[0] }
        #expect(last.contains { $0["payload"] == 2 })
        try await hosts.end(daemon)
    }

    /// Less than wake-ups wait for others to be merged with.
    @Test func oneThatExpiresSoonIsHandedOver() async throws {
        let hosts = try HostHome()
        try await hosts.add(body: "cat > $D/got")
        let daemon = try hosts.home.start("daemon")
        try await hosts.run(["wake", HostHome.host, "--expires", "4s"])
        try await eventually("it is handed over") { hosts.lines("got").count == 1 }
        try await hosts.end(daemon)
        #expect(try await hosts.show()["wakeUps"].items.isEmpty)
    }

    /// It passes the back-off of its host, until three in a row were not handled.
    @Test func urgencyIsLostByFailures() async throws {
        let hosts = try HostHome()
        try await hosts.add("--permit", "refresh", body: "cat > /dev/null; exit 3")
        let daemon = try hosts.home.start("daemon")
        for count in 1...3 {
            try await hosts.run(["wake", HostHome.host, "--urgent"])
            try await eventually("launch \(count) has failed") {
                try await hosts.show()["failures"].int == count
            }
        }
        try await hosts.run(["wake", HostHome.host, "--urgent"])
        try await eventually("it waits like others") {
            try await hosts.show()["state"] == "delayed"
        }
        let shown = try await hosts.show()
        #expect(shown["urgencyLostUntil"].string != nil)
        let states = shown["wakeUps"].items.map { $0["state"] }
        #expect(states == ["waiting", "failed", "failed", "failed"])
        #expect(
            shown["wakeUps"][0]["waitingFor"].items.map { $0["reason"] }.contains("backoff"))
        let text = try await hosts.run(["host", "show", HostHome.host]).output
        #expect(text.contains("urgency    lost until ") && text.contains("    waits for  retry "))
        #expect(text.contains("wake-up, urgent: not handled by launch 3, "))
        #expect(hosts.lines("started").count == 3)
        try await hosts.run(["host", "reset", HostHome.host])
        try await eventually("it is handed over") { hosts.lines("started").count == 4 }
        #expect(try await hosts.show()["urgencyLostUntil"] == .null)
        try await hosts.end(daemon)
    }
}

extension HostHome {
    fileprivate func task(_ id: String) async throws -> JSONValue {
        try #require(try await run(["task", "show", id, "--json"]).rows.first)
    }

    /// Submits a request, or is refused with this code.
    fileprivate func submit(_ arguments: String..., refusal: String? = nil) async throws {
        let result = try await run(
            ["task", "submit", "--json"] + arguments, status: refusal == nil ? 0 : 5)
        #expect(try result.rows.first?["error"]["code"].string == refusal)
    }

    fileprivate func end(_ engine: CLIProcess) async throws {
        engine.send(SIGTERM)
        #expect(try await engine.wait().status == 0)
    }
}
