import Foundation
import LonghaulTestSupport
import Testing

/// Engine and host are killed at random moments: each event is handed over at least once, in order,
/// and in the end none waits.
@Suite(.serialized, .timeLimit(.minutes(60))) struct HostKillTests {
    static let rounds =
        ProcessInfo.processInfo.environment["LONGHAUL_HOST_ROUNDS"].flatMap { Int($0) } ?? 3
    static let transfers = 50

    /// Notes each event when it has dealt with it, some quickly and some slowly.
    private static let body = """
        jq -r --unbuffered '"\\(.seq) \\(.type) \\(.transferID)"' | while read -r line; do
            echo "$LONGHAUL_LAUNCH_ID $line" >> $D/log
            [ $((${line%% *} % 7)) -eq 0 ] && sleep 0.01
        done
        exit 0
        """

    @Test func everyEventIsHandedOver() async throws {
        var random = SeededRandom.fromEnvironment()
        var duplicates = 0
        var kills = 0
        for _ in 0..<Self.rounds {
            let round = try await play(&random)
            duplicates += round.duplicates
            kills += round.kills
        }
        print("\(Self.rounds) rounds, \(kills) kills: \(duplicates) events handed over again")
    }

    private func play(
        _ random: inout SeededRandom
    ) async throws -> (duplicates: Int, kills: Int) {
        let hosts = try HostHome()
        try await hosts.add("--event-budget", "20s", body: Self.body)
        return try await LoopbackServer.run { server in
            // The program that asks for them has ended before they begin.
            let urls = (0..<Self.transfers).map { number in
                let slow = number % 5 == 0 ? "&rate=200K" : ""
                return server.url("k\(number).bin?size=40K&seed=\(number)&etag=v1" + slow)
            }
            try await hosts.run(
                ["enqueue", "-", "--session", "s", "-d", hosts.home.file("k")],
                input: urls.joined(separator: "\n") + "\n")
            let kills = try await killAtRandom(hosts, &random)
            let last = try hosts.home.start("daemon")
            try await eventually("all is told") {
                // A host that was killed is started again later; nobody waits that long here.
                try await hosts.run(["host", "reset", HostHome.host])
                let session = try await hosts.run(["session", "show", "s", "--json"]).rows.first
                return session?["waitingEvents"] == 0
                    && session?["counts"]["completed"].int == Self.transfers
            }
            last.send(SIGTERM)
            _ = try await last.wait()
            for (number, url) in urls.enumerated() {
                try server.expected(url).verify(file: hosts.home.file("k/k\(number).bin"))
            }
            return (try await check(hosts), kills)
        }
    }

    private func killAtRandom(
        _ hosts: HostHome, _ random: inout SeededRandom
    ) async throws -> Int {
        var kills = 0
        for _ in 0..<12 {
            let engine = try hosts.home.start("daemon")
            try await Task.sleep(for: .milliseconds(Int.random(in: 10...600, using: &random)))
            let dice = Int.random(in: 0..<3, using: &random)
            if dice > 0 { kills += try await killHost(hosts) }
            if dice != 1 {
                engine.send(SIGKILL)
                kills += 1
            } else {
                try await Task.sleep(for: .milliseconds(100))
                engine.send(SIGTERM)
            }
            _ = try await engine.wait()
            if dice == 2 { kills += try await killHost(hosts) }
            try await hosts.run(["host", "reset", HostHome.host])
        }
        return kills
    }

    private func killHost(_ hosts: HostHome) async throws -> Int {
        let launch = try await hosts.launch()
        guard launch["ending"].string == nil, let pid = launch["pid"].int else { return 0 }
        return kill(-pid_t(pid), SIGKILL) == 0 ? 1 : 0
    }

    /// Returns how many events were handed over more than once.
    private func check(_ hosts: HostHome) async throws -> Int {
        let events = try await hosts.run(["events"]).rows
        let all = events.compactMap { $0["seq"].int }
        let ends = events.filter { $0["type"] == "transferCompleted" }
        #expect(Set(ends.map { $0["transferID"].int }).count == Self.transfers)
        #expect(ends.count == Self.transfers, "one end for each")
        #expect(events.last?["type"] == "sessionFinished")

        let told = hosts.lines("log").map { $0.split(separator: " ").map(String.init) }
            // A host that was killed may have left half a line.
            .filter { $0.count == 4 }
        let launches = told.compactMap { Int($0[0]) }
        #expect(launches == launches.sorted(), "two launches at a time")
        var seen: Set<Int> = []
        var first: [Int] = []
        var last: [Int: Int] = [:]
        for line in told {
            guard let launch = Int(line[0]), let seq = Int(line[1]) else { continue }
            #expect(last[launch] ?? 0 < seq, "within a launch they are in order")
            last[launch] = seq
            if seen.insert(seq).inserted { first.append(seq) }
        }
        #expect(first == first.sorted(), "each is first told after those before it")
        #expect(seen == Set(all), "each is told")
        return told.count - seen.count
    }
}
