import Foundation
import LonghaulTestSupport
import Testing

/// Several connections for one file, of which some are cut or refused.
@Suite(.serialized, .timeLimit(.minutes(60))) struct ConnectionTests {
    private func fetch(
        _ url: String, connections: Int, _ home: LonghaulHome
    ) throws -> CLIProcess {
        // Whoever stalls is not given up meanwhile.
        try home.start(
            "get", "-q", url, "-o", home.file("a.bin"), "--connections", "\(connections)",
            "--stall-timeout", "10m")
    }

    private func isWhole(
        _ get: CLIProcess, _ server: LoopbackServer, _ url: String, _ home: LonghaulHome
    ) async throws {
        let result = try await get.wait()
        #expect(result.status == 0, "\(result.errors)")
        try server.expected(url).verify(file: home.file("a.bin"))
        let shown = try #require(try await home.run("show", "1", "--json").rows.first)
        #expect(shown["restarts"] == 0, "\(shown)")
    }

    /// All break off in the middle: soon as many are there again.
    @Test func asManyComeBackAfterACut() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=64M&seed=4&etag=v1&stall=4M")
            let get = try fetch(url, connections: 4, home)
            try await eventually("four that have brought something") {
                let shown = try await home.run("show", "1", "--json").rows.first
                return shown?["bytesDone"].int ?? 0 >= 14 << 20
            }
            await server.dropConnections()
            try await eventually("four at a time; \(server.log.all.map(\.head))") {
                server.log.all.filter { $0.outcome == nil }.count == 4
            }
            server.goOn()
            try await isWhole(get, server, url, home)
        }
    }

    /// Small servers know `bytes=a-` alone, and answer `bytes=a-b` with all from `a`: what is
    /// wanted of that is taken, with several connections, and for the gaps that a kill leaves.
    @Test func aServerThatKnowsNoEndOfARange() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=32M&seed=4&etag=v1&rate=3M&norangeend")
            _ = try await home.run(
                "enqueue", url, "-o", home.file("a.bin"), "--connections", "4")
            let engine = try home.start("run")
            try await eventually("some has come") {
                let shown = try await home.run("show", "1", "--json").rows.first
                return shown?["bytesDone"].int ?? 0 >= 8 << 20
            }
            engine.send(SIGKILL)
            _ = try await engine.wait()
            let before = server.log.all.count
            let run = try await home.start("run").wait()
            #expect(run.status == 0, "\(run.errors)")
            try server.expected(url).verify(file: home.file("a.bin"))
            let shown = try #require(try await home.run("show", "1", "--json").rows.first)
            #expect(shown["restarts"] == 0, "\(shown)")
            #expect(shown["bytesFetched"].int ?? .max < 36 << 20, "\(shown)")
            // A gap with an end was asked for; its early end is no failure.
            let gaps = server.log.all.dropFirst(before).filter {
                $0.status == 206 && $0["Range"]?.hasSuffix("-") == false
            }
            #expect(!gaps.isEmpty, "\(server.log.all.map(\.head))")
        }
    }

    /// Where redirects lead counts as well, for discretionary downloads and others together.
    @Test(arguments: [["--discretionary", "--prefer", "none"], []])
    func redirectsOfManyOriginsToOne(options: [String]) async throws {
        let home = try LonghaulHome()
        let limits = try home.scratch.write(#"{"limits": {"perOrigin": 2}}"#, to: "config.json")
        let limited = home.with(["LONGHAUL_CONFIG": limits])
        try await LoopbackServer.run { target in
            var origins: [LoopbackServer] = []
            for _ in 0..<30 { try await origins.append(.start()) }
            let urls = (0..<60).map { index in
                let place = PercentCoding.encode(target.url("\(index).bin?size=10K&etag=v1"))
                return origins[index % 30].url("\(index).bin?redirect=\(place)")
            }
            let place = ["-d", home.file("")]
            _ = try await limited.start(["enqueue"] + options + place + urls[..<50]).wait()
            _ = try await limited.start(["enqueue"] + place + urls[50...]).wait()
            let run = try await limited.start("run").wait()
            #expect(run.output.contains("60 completed"), "\(run.output) \(run.errors)")
            // Sixteen are moved at once. The server counts a connection that is being closed until
            // it has read its end.
            #expect((1...6).contains(target.connectionsAtMost))
        }
    }

    /// The server gives each visitor two connections: two it is, up to the end.
    @Test(arguments: ["", "&retryafter=1"])
    func asManyAsTheServerGrants(knob: String) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url(
                "a.bin?size=64M&seed=4&etag=v1&rate=8M&status=503&statusafter=2&statuses=2\(knob)"
            )
            try await isWhole(fetch(url, connections: 4, home), server, url, home)
            let served = server.log.all.filter { $0.status < 300 }
            // Of those that came later at least two for some time.
            let later = served.dropFirst(2)
            let isBeside = later.contains { one in
                served.contains { other in
                    guard other.number < one.number, let end = one.endedAt,
                        let otherEnd = other.endedAt
                    else { return false }
                    return min(end, otherEnd) - one.startedAt > .milliseconds(300)
                }
            }
            #expect(isBeside, "\(server.log.all)")
        }
    }

    /// One connection of several crawls: at its rate the file would take minutes.
    @Test func aCrawlingConnectionHoldsNothingUp() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=16M&seed=3&etag=v1&rate=3M&crawlat=2")
            let got = try await home.run(
                "get", "-q", url, "-o", home.file("a.bin"), "--connections", "4")
            #expect(got.status == 0, "\(got.errors)")
            try server.expected(url).verify(file: home.file("a.bin"))
        }
    }

    /// The number of a process's threads that wait for servers.
    private func wireThreads(_ pid: Int32) -> Int {
        let tasks = "/proc/\(pid)/task"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []
        return names.count { name in
            let text = try? String(contentsOfFile: "\(tasks)/\(name)/comm", encoding: .utf8)
            return text == "longhaul-wire\n"
        }
    }

    /// Ranges over HTTP are received by one thread.
    @Test func rangesOverHTTPHaveOneThread() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=16M&seed=4&etag=v1&stall=1M")
            let get = try fetch(url, connections: 4, home)
            try await eventually("four at a time; \(server.log.all.map(\.head))") {
                server.log.all.filter { $0.outcome == nil }.count == 4
            }
            #expect(wireThreads(get.pid) == 1)
            server.goOn()
            try await isWhole(get, server, url, home)
        }
    }

    /// Ranges over TLS are decrypted by several threads; a kill loses nothing of any.
    @Test(.enabled(if: ProcessInfo.processInfo.activeProcessorCount > 1))
    func rangesOverTLSHaveSeveralThreads() async throws {
        let home = try LonghaulHome()
        var options = NginxServer.Options()
        options.rate = 1 << 20
        options.hasHTTP2 = false
        let server = try await NginxServer.start(options: options)
        var random = SeededRandom(seed: 53)
        var content = Data()
        for _ in 0..<(3 << 20) {
            withUnsafeBytes(of: random.next()) { content.append(contentsOf: $0) }
        }
        try content.write(to: URL(filePath: server.root + "/a.bin"))
        _ = try await home.run(
            "enqueue", server.https("a.bin"), "-o", home.file("a.bin"), "--connections", "4",
            "--cacert", server.authority.certificate)
        let engine = try home.start("run")
        try await eventually("a second thread") { wireThreads(engine.pid) > 1 }
        try await eventually("some has come") {
            let shown = try await home.run("show", "1", "--json").rows.first
            return shown?["bytesDone"].int ?? 0 > 4 << 20
        }
        engine.send(SIGKILL)
        _ = try await engine.wait()
        let run = try await home.start("run").wait()
        #expect(run.status == 0, "\(run.errors)")
        #expect(try Data(contentsOf: URL(filePath: home.file("a.bin"))) == content)
        let shown = try #require(try await home.run("show", "1", "--json").rows.first)
        #expect(shown["restarts"] == 0, "\(shown)")
    }
}
