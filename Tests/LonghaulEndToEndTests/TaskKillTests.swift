import Foundation
import LonghaulTestSupport
import Testing

/// Engine, host or both are killed while 20 repeating and 20 single requests of four hosts run:
/// none is lost, none is completed twice, none runs beside another launch of its host.
@Suite(.serialized, .timeLimit(.minutes(60))) struct TaskKillTests {
    static let rounds =
        ProcessInfo.processInfo.environment["LONGHAUL_TASK_ROUNDS"].flatMap { Int($0) } ?? 5
    private static let hosts = (0..<4).map { "com.example.h\($0)" }
    private static let interval = 2.0
    private static let tolerance = 1.0

    /// Notes each task when it begins and when it is done, and tells its result.
    private static let body = """
        jq -r --unbuffered 'select(.type == "task") | .identifier' | while read -r id; do
            echo "$LONGHAUL_LAUNCH_ID $LONGHAUL_HOST begin $id" >> $D/log
            sleep 0.02
            echo "$LONGHAUL_LAUNCH_ID $LONGHAUL_HOST end $id" >> $D/log
            echo "{\\"task\\":\\"$id\\",\\"result\\":\\"success\\"}"
        done
        exit 0
        """

    @Test func everyRequestIsCarriedOut() async throws {
        var random = SeededRandom.fromEnvironment()
        let hosts = try HostHome()
        try hosts.write(Self.body)
        for host in Self.hosts {
            let permits = (0..<10).flatMap { ["--permit", name(host, $0)] }
            try await hosts.run(["host", "add", host] + permits + ["--", hosts.script])
            for number in 5..<10 { try await submit(hosts, host, number) }
        }
        var kills = 0
        for _ in 0..<Self.rounds {
            for host in Self.hosts {
                for number in 0..<5 { try await submit(hosts, host, number) }
            }
            let engine = try hosts.home.start("daemon")
            try await Task.sleep(for: .milliseconds(Int.random(in: 10...700, using: &random)))
            let dice = Int.random(in: 0..<3, using: &random)
            if dice > 0 { kills += try await killHosts(hosts) }
            if dice == 1 {
                engine.send(SIGTERM)
            } else {
                engine.send(SIGKILL)
                kills += 1
            }
            _ = try await engine.wait()
            for host in Self.hosts { try await hosts.run(["host", "reset", host]) }
        }
        let last = try hosts.home.start("daemon")
        try await eventually("all requests were carried out, and the single ones are gone") {
            for host in Self.hosts { try await hosts.run(["host", "reset", host]) }
            let left = try await hosts.run(["task", "list", "--json"]).rows
            if left.contains(where: { $0["every"].double == nil }) { return false }
            let ended = hosts.lines("log").map { $0.split(separator: " ") }
                .filter { $0.count == 4 && $0[2] == "end" }
            return Set(ended.map { $0[3] }).count == Self.hosts.count * 10
        }
        last.send(SIGTERM)
        _ = try await last.wait()
        try await check(hosts)
        print("\(Self.rounds) rounds, \(kills) kills")
    }

    private func name(_ host: String, _ number: Int) -> String { "\(host).t\(number)" }

    private func submit(_ hosts: HostHome, _ host: String, _ number: Int) async throws {
        var arguments = [
            "task", "submit", name(host, number), "--kind", "processing", "--no-start",
        ]
        if number >= 5 {
            arguments += ["--every", "\(Int(Self.interval))s"]
            arguments += ["--tolerance", "\(Int(Self.tolerance))s"]
        }
        try await hosts.run(arguments)
    }

    private func killHosts(_ hosts: HostHome) async throws -> Int {
        var kills = 0
        for host in try await hosts.run(["host", "list", "--json"]).rows {
            let launch = host["launches"][0]
            guard launch["ending"].string == nil, let pid = launch["pid"].int else { continue }
            kills += kill(-pid_t(pid), SIGKILL) == 0 ? 1 : 0
        }
        return kills
    }

    private func check(_ hosts: HostHome) async throws {
        let told = hosts.lines("log").map { $0.split(separator: " ").map(String.init) }
            // A host that was killed may have left half a line.
            .filter { $0.count == 4 }
        for host in Self.hosts {
            let launches = told.filter { $0[1] == host }.compactMap { Int($0[0]) }
            #expect(launches == launches.sorted(), "two launches of \(host) at a time")
            for number in 0..<10 {
                let name = name(host, number)
                let done = told.contains { $0[3] == name && $0[2] == "end" }
                #expect(done, "\(name) was carried out")
                try await checkRuns(hosts, name, repeats: number >= 5)
            }
        }
    }

    /// The log of runs, newest first.
    private func checkRuns(_ hosts: HostHome, _ name: String, repeats: Bool) async throws {
        let task = try #require(try await hosts.run(["task", "show", name, "--json"]).rows.first)
        var later: Date?
        for index in 0..<10 {
            let run = task["runs"][index]
            guard let started = run["startedAt"].string.flatMap({ Self.time($0) }) else { break }
            // One that was lost with its engine comes again at once.
            if repeats, run["result"].string == "success", let later {
                #expect(
                    later.timeIntervalSince(started) >= Self.interval - Self.tolerance - 0.01,
                    "\(name) runs twice within its interval")
            }
            later = started
        }
        if !repeats { #expect(task["runs"][0]["result"].string == "success") }
    }

    private static func time(_ text: String) -> Date? {
        try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
