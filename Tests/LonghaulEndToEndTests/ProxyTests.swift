import Foundation
import LonghaulTestSupport
import Testing

/// Whose proxies count, and what becomes of those who wait where one leads nowhere. The scripted
/// server takes the requests that a proxy gets, and answers them itself.
@Suite(.timeLimit(.minutes(60))) struct ProxyTests {
    /// What the server saw of a file.
    private func targets(_ server: LoopbackServer, _ file: String) -> [String] {
        server.log.requests(for: file).map(\.target)
    }

    /// The shell's that asks for a transfer, whoever carries it out.
    @Test func theVariablesOfTheShellThatAsksCount() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let proxy = "http://127.0.0.1:\(server.port)"
            let daemon = try home.with(["http_proxy": "http://127.0.0.1:1"]).start("daemon")
            try await eventually("an engine") {
                try await home.run("status", "--json").rows.first?["engine"]["pid"].int != nil
            }
            let asking = home.with(["http_proxy": proxy, "no_proxy": "127.0.0.0/8"])
            let get = try await asking.run(
                "get", "-q", "http://h.invalid/f/a.bin?size=1K", "-o", home.file("a"))
            #expect(get.status == 0, "\(get.errors)")
            #expect(targets(server, "a.bin") == ["http://h.invalid/f/a.bin?size=1K"])
            // Excepted: directly, though the engine knows a proxy.
            let direct = try await asking.run(
                "get", "-q", server.url("b.bin?size=1K"), "-o", home.file("b"))
            #expect(direct.status == 0, "\(direct.errors)")
            #expect(targets(server, "b.bin").first?.hasPrefix("/") == true)
            // Who names one means it, whatever is excepted.
            let named = try await home.with(["no_proxy": "127.0.0.1"]).run(
                "get", "-q", server.url("c.bin?size=1K"), "-o", home.file("c"), "--proxy", proxy)
            #expect(named.status == 0, "\(named.errors)")
            #expect(targets(server, "c.bin").first?.hasPrefix("http://") == true)
            // By the lines of an input, too.
            let batch = try await asking.run(
                "enqueue", "--no-start", "-",
                input: "http://h.invalid/f/d.bin?size=1K\n  out=\(home.file("d"))\n")
            #expect(batch.status == 0, "\(batch.errors)")
            try await eventually("the file of the list") { targets(server, "d.bin").count == 1 }
            daemon.send(SIGTERM)
            #expect(try await daemon.wait().status == 0)
        }
    }

    /// It would be tried for a week.
    @Test(arguments: ["bogus://proxy", "127.0.0.1:99999"])
    func aVariableThatNamesNoneIsRefused(proxy: String) async throws {
        let home = try LonghaulHome().with(["http_proxy": proxy])
        let refused = try await home.run("enqueue", "http://h.invalid/f", "-o", home.file("a"))
        #expect(refused.status == 64)
        #expect(refused.errors.contains("http_proxy, or all_proxy: "), "\(refused.errors)")
        // It is not for those.
        let other = try await home.run("enqueue", "ftp://h.invalid/f", "-o", home.file("b"))
        #expect(other.status == 0, "\(other.errors)")
        let none = try await home.with(["no_proxy": "h.invalid"])
            .run("enqueue", "http://h.invalid/f", "-o", home.file("c"))
        #expect(none.status == 0, "\(none.errors)")
    }

    /// Of a transfer whose shell names no proxy, the proxy of a shell that happens to be the engine
    /// is no way; that of an engine which is one for its own sake is.
    @Test(arguments: ["get", "background", "run"])
    func whoHasNoneGoesByTheEngines(kind: String) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=1K")
            let enqueued = try await home.run(
                "enqueue", "--no-start", url, "-o", home.file("a"), "--retries", "0")
            #expect(enqueued.status == 0, "\(enqueued.errors)")
            let other = home.with([
                "http_proxy": "http://127.0.0.1:1", "LONGHAUL_AUTOSTART": nil,
            ])
            switch kind {
            case "get":
                let get = try other.start(
                    "get", "-q", "ftp://127.0.0.1:1/b", "-o", home.file("b"))
                try await eventually("it is there") { server.log.count == 1 }
                get.send(SIGKILL)
            case "background":
                let another = try await other.run(
                    "enqueue", "ftp://127.0.0.1:1/b", "-o", home.file("b"), "--retries", "0")
                #expect(another.status == 0, "\(another.errors)")
                try await eventually("it is there") { server.log.count == 1 }
                let pid = try await home.run("status", "--json").rows.first?["engine"]["pid"].int
                if let pid { kill(pid_t(pid), SIGTERM) }
            default:
                #expect(try await other.run("run").status == 1)
                #expect(server.log.count == 0)
                let shown = try await home.run("show", "1", "--json").rows.first
                #expect(shown?["error"]["message"].string?.contains("of the proxy") == true)
            }
        }
    }

    /// Where nobody gets further, thousands who wait are not let go one after the other.
    @Test(
        .enabled(if: InstalledProgram.find("python3") != nil, "skipped: there is no python3"),
        arguments: ["proxy", "tunnel", "redirect"])
    func aWayThatLeadsNowhereIsLeftAlone(kind: String) async throws {
        let home = try LonghaulHome()
        let refusing = try RefusingProxy()
        try await LoopbackServer.run { server in
            let away = PercentCoding.encode("http://127.0.0.1:1/")
            let (url, proxy) =
                switch kind {
                case "proxy": ("http://h.invalid/", "http://127.0.0.1:1")
                case "tunnel": ("https://h.invalid/", "http://127.0.0.1:\(refusing.port)")
                default: (server.url("x.bin?redirect=\(away)&seed="), "")
                }
            let list = (0..<600).map { "\(url)\($0)\n  out=\($0)\n" }.joined()
            let enqueued = try await home.run(
                "enqueue", "--no-start", "--proxy", proxy, "-", input: list)
            #expect(enqueued.status == 0, "\(enqueued.errors)")
            #expect(try await home.run("run", "--max-time", "3s").status == 0)
            let attempts = try await home.stored("SELECT id FROM attempt").count
            #expect((1..<40).contains(attempts))
        }
    }
}

/// It can reach nobody.
private final class RefusingProxy {
    private let socket: ListeningSocket
    var port: Int { socket.port }

    init() throws {
        socket = try ListeningSocket(backlog: 128)
        socket.acceptEach { client in
            var buffer = [UInt8](repeating: 0, count: 4096)
            let answer = Array("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n".utf8)
            if recv(client, &buffer, buffer.count, 0) > 0 {
                send(client, answer, answer.count, Int32(MSG_NOSIGNAL))
            }
            close(client)
            return true
        }
    }

    deinit { socket.stop() }
}
