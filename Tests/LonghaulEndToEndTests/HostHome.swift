import Foundation
import LonghaulTestSupport
import Testing

/// A queue with one host, a shell script, and what it has left behind.
final class HostHome: Sendable {
    static let host = "com.example.test"
    /// The script that the documentation shows.
    static let sample = Fixture.path("hosts/album.sh")
    let home: LonghaulHome

    convenience init() throws {
        self.init(try LonghaulHome())
    }

    init(_ home: LonghaulHome) {
        self.home = home
    }

    var script: String { home.scratch("host.sh") }

    /// Where the script's directory is `$D` in it; it begins by noting that it runs.
    func write(_ body: String) throws {
        let text = """
            #!/bin/sh
            D='\(home.scratch.path)'
            echo "$LONGHAUL_LAUNCH_ID $$" >> "$D/started"
            \(body)
            """
        try home.scratch.write(text, to: "host.sh")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755], ofItemAtPath: script)
    }

    /// Makes the script known, with a session `s` that is told at once.
    func add(_ options: String..., body: String) async throws {
        try write(body)
        try await run(["host", "add", Self.host] + options + ["--", script])
        try await run(["session", "set", "s", "--host", Self.host, "--launch-delay", "0s"])
    }

    /// So many events: transfers that were given up before they began.
    func makeEvents(_ count: Int) async throws {
        let lines = (0..<count).map {
            #"{"url":"http://127.0.0.1:9/f","destination":"e\#(UUID().uuidString)-\#($0)"}"#
        }
        try await run(
            ["enqueue", "-", "--session", "s"], input: lines.joined(separator: "\n") + "\n")
        try await run(["cancel", "--session", "s"])
    }

    @discardableResult
    func run(
        _ arguments: [String], input: String? = nil, status: Int32 = 0,
        within limit: Duration = Patience.usual, location: SourceLocation = #_sourceLocation
    ) async throws -> CLIProcess.Result {
        let result = try await home.start(arguments, input: input).wait(within: limit)
        #expect(
            result.status == status, "\(arguments): \(result.errors)", sourceLocation: location)
        return result
    }

    func show() async throws -> JSONValue {
        try #require(try await run(["host", "show", Self.host, "--json"]).rows.first)
    }

    func status() async throws -> JSONValue {
        try #require(try await run(["status", "--json"]).rows.first)
    }

    func transfer(_ id: Int) async throws -> JSONValue {
        try #require(try await run(["show", "\(id)", "--json"]).rows.first)
    }

    func launch() async throws -> JSONValue { try await show()["launches"][0] }

    func waitingEvents() async throws -> Int? {
        try await run(["session", "show", "s", "--json"]).rows.first?["waitingEvents"].int
    }

    /// Lines that the script has written to a file of its directory.
    func lines(_ name: String) -> [String] {
        guard let text = try? home.scratch.text(of: name) else { return [] }
        return text.split(separator: "\n").map(String.init)
    }

    /// The named pipes of launches.
    func streams() throws -> [String] {
        try home.scratch.names(in: "state").filter { $0.hasPrefix("launch-") }
    }

    /// Not reaped by anybody in a container without an init, but dead.
    static func isGone(_ pid: pid_t) -> Bool {
        guard let fields = fields(of: pid) else { return true }
        return fields.first == "Z"
    }

    /// Children that have ended and that it has not taken note of.
    static func zombies(of parent: pid_t) -> [pid_t] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { pid_t($0) }.filter { pid in
            fields(of: pid).map { Array($0.prefix(2)) } == ["Z", "\(parent)"]
        }
    }

    /// Its state, its parent, and what follows.
    private static func fields(of pid: pid_t) -> [String]? {
        guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            let name = stat.range(of: ") ", options: .backwards)
        else { return nil }
        return stat[name.upperBound...].split(separator: " ").map(String.init)
    }
}
