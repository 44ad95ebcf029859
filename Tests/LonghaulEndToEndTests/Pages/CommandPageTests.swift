import Foundation
import LonghaulTestSupport
import Testing

/// `docs/commands.md` shows what commands print: one story, told by the built command.
@Suite(.timeLimit(.minutes(60))) struct CommandPageTests {
    private static let page = ConsolePage(path: "docs/commands.md")

    /// Runs a command as the page has it, with the server's addresses in place of the page's.
    private struct Teller {
        var home: LonghaulHome
        var server: LoopbackServer
        /// What the server is to do with a file, by its name.
        let knobs = [
            "a.iso": "size=5M&etag=v1", "b.iso": "size=1M", "nope.iso": "status=404",
            "slow.iso": "size=100M&etag=v1&rate=100K",
        ]

        func tell(
            _ command: String, under heading: String, status: Int32 = 0,
            location: SourceLocation = #_sourceLocation
        ) async throws {
            let result = try await home.start(
                command.split(separator: " ").dropFirst().map { real(String($0)) }
            ).wait()
            #expect(result.status == status, "\(command): \(result)", sourceLocation: location)
            // On a terminal both are seen; progress comes first.
            try CommandPageTests.page.check(
                shown(result.errors + result.output), of: command, under: heading,
                location: location)
        }

        private func real(_ quoted: String) -> String {
            let word = quoted.replacing("'", with: "")
            guard let name = word.components(separatedBy: "https://example.com/").dropFirst().first
            else { return word.replacing("/home/me", with: home.scratch.path) }
            return server.url("\(name)?\(knobs[name] ?? "size=1M")")
        }

        private func shown(_ text: String) -> String {
            var text = text.replacing(home.scratch("files"), with: "/home/me")
            text = text.replacing(home.scratch.path, with: "/home/me")
            for name in ["a.iso", "b.iso", "c.iso", "d.iso", "e.iso", "nope.iso", "slow.iso"] {
                let url = server.url("\(name)?\(knobs[name] ?? "size=1M")")
                text = text.replacing(url, with: "https://example.com/\(name)")
            }
            // HOME is the scratch directory.
            text = text.replacing("~/files", with: "~")
            return text.replacing(
                (try? Regex("[^ ]*/longhaul run")) ?? /$^/, with: "/usr/local/bin/longhaul run")
        }
    }

    @Test func isAsOnThePage() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let teller = Teller(home: home, server: server)
            try await gets(teller)
            try await looks(teller)
            try await changes(teller)
            try await tellsPrograms(teller)
            try await asksForTasks(teller)
            try await runsJobs(teller)
            try await isEngine(teller)
        }
    }

    private func gets(_ teller: Teller) async throws {
        let get = "get"
        try await teller.tell("longhaul get https://example.com/a.iso", under: get)
        try await teller.tell("longhaul get https://example.com/a.iso -o a.iso", under: get)
        try await teller.tell("longhaul get -q --json https://example.com/b.iso", under: get)
        try await teller.tell("longhaul get https://example.com/nope.iso", under: get, status: 1)
        let enqueue = "enqueue"
        try await teller.tell(
            "longhaul enqueue https://example.com/c.iso --earliest +2h", under: enqueue)
        for (name, second) in [
            ("wanted.txt", "https://example.com/e.iso"), ("typo.txt", "example"),
        ] {
            try teller.home.scratch.write(
                "https://example.com/d.iso\n\(second)\n", to: "files/\(name)")
        }
        try await teller.tell("longhaul enqueue --input typo.txt", under: enqueue, status: 64)
        try await teller.tell(
            "longhaul enqueue --input wanted.txt --earliest +5h", under: enqueue)
    }

    private func looks(_ teller: Teller) async throws {
        try await teller.tell("longhaul list", under: "list")
        try await teller.tell("longhaul show 3", under: "show")
        try await teller.tell("longhaul why 4", under: "why")
        try await teller.tell("longhaul why 4 --json", under: "why")
        try await teller.tell("longhaul wait 1 3", under: "wait", status: 1)
        try await teller.tell("longhaul wait 4 --timeout 1s", under: "wait", status: 3)
        let daemon = try teller.home.start("daemon")
        try await eventually("it runs") {
            try await teller.home.run("status", "--json").rows.first?["nextWake"] != .null
        }
        try await teller.tell("longhaul status", under: "status")
        try await teller.tell("longhaul status --json", under: "status")
        daemon.send(SIGTERM)
        #expect(try await daemon.wait().status == 0)
    }

    private func changes(_ teller: Teller) async throws {
        try await teller.tell("longhaul pause 4 5", under: "pause")
        try await teller.tell("longhaul resume 4 5", under: "resume")
        try await teller.tell("longhaul cancel 4", under: "cancel")
        try await teller.tell("longhaul cancel 1", under: "cancel", status: 5)
        try await teller.tell("longhaul retry 4", under: "retry")
        try await teller.tell("longhaul set 4 --priority high --earliest +3h", under: "set")
        try await teller.tell("longhaul remove 3", under: "remove")
        try await teller.tell("longhaul remove 4", under: "remove", status: 5)
        try await teller.tell("longhaul clean --older-than 7d", under: "clean")
        try await teller.tell("longhaul limit 2M --for 1h", under: "limit")
        try await teller.tell("longhaul limit default", under: "limit")
    }

    private func tellsPrograms(_ teller: Teller) async throws {
        try teller.home.scratch.write("#!/bin/sh\njq -r .type\n", to: "album.sh")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755], ofItemAtPath: teller.home.scratch("album.sh"))
        try await teller.tell(
            "longhaul host add com.example.album -- /home/me/album.sh", under: "host")
        try await teller.tell(
            "longhaul session set photos --host com.example.album", under: "session")
        _ = try await teller.home.run(
            "get", teller.server.url("f.jpg?size=1M"), "--session", "photos", "-q")
        // A `get` leaves when its file is there: the host is another's to start.
        _ = try await teller.home.run("run")
        try await teller.tell("longhaul session list", under: "session")
        try await teller.tell("longhaul session show photos", under: "session")
        try await teller.tell("longhaul host show com.example.album", under: "host")
        try await teller.tell("longhaul host list --json", under: "host")
        try await teller.tell("longhaul events --after 4 --session default", under: "events")
        try await teller.tell("longhaul events --ack 4 --session default --json", under: "events")
    }

    private func asksForTasks(_ teller: Teller) async throws {
        try teller.home.scratch.write("#!/bin/sh\n", to: "feed.sh")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755], ofItemAtPath: teller.home.scratch("feed.sh"))
        let task = "task"
        try await teller.tell(
            "longhaul host add com.example.feed --permit refresh --permit clean --permit sync"
                + " -- /home/me/feed.sh", under: task)
        try await teller.tell("longhaul task submit refresh --every 1h", under: task)
        try await teller.tell(
            "longhaul task submit clean --kind processing --require power,battery=50"
                + " --earliest +1h", under: task)
        try await teller.tell(
            #"longhaul task submit sync --on online,resume --payload '{"full":false}'"#, under: task
        )
        try await teller.tell("longhaul task list", under: task)
        try await teller.tell("longhaul task show clean", under: task)
        try await teller.tell("longhaul task show sync --json", under: task)
        try await teller.tell("longhaul task cancel sync", under: task)
        try await teller.tell("longhaul task submit other", under: task, status: 5)
        let wake = "wake"
        try await teller.tell(
            #"longhaul wake com.example.feed --identifier mail --payload '{"folder":"inbox"}'"#,
            under: wake)
        try await teller.tell("longhaul wake com.example.feed --urgent --json", under: wake)
        _ = try await teller.home.run("host", "remove", "com.example.feed")
    }

    private func runsJobs(_ teller: Teller) async throws {
        let job = "job"
        try await teller.tell(
            "longhaul job add backup --at 02:30 --days Mon-Fri --require power"
                + " -- tar -czf /home/me/b.tgz a.iso", under: job)
        try await teller.tell("longhaul job add check --retries 0 -- ls nothing", under: job)
        try await teller.tell("longhaul run --max-time 2s", under: job)
        try await teller.tell("longhaul job list", under: job)
        try await teller.tell("longhaul job show check", under: job)
        try await teller.tell("longhaul job log check", under: job)
        try await teller.tell("longhaul job show check --json", under: job)
        try await teller.tell("longhaul job remove check", under: job)
        try await teller.tell("longhaul job run check", under: job, status: 4)
        _ = try await teller.home.run("job", "remove", "backup")
    }

    private func isEngine(_ teller: Teller) async throws {
        _ = try await teller.home.run("enqueue", teller.server.url("g.iso?size=2M"))
        try await teller.tell("longhaul run", under: "run")
        try await teller.tell("longhaul run --max-time 1s --json", under: "run")
        try await teller.tell(
            "longhaul conditions --set"
                + " power=battery,battery=40,network=metered,idle=no,saver=off,"
                + "mounted=none",
            under: "conditions")
        try await teller.tell("longhaul conditions --json", under: "conditions")
        try await teller.tell("longhaul doctor", under: "doctor")
        try await teller.tell(
            "longhaul install --cron @hourly --max-time 25m --print", under: "install")
    }
}
