import Foundation
import Glibc
import LonghaulTestSupport
import Testing

/// A home with a server, and what a client of it sends.
final class ServedHome: Sendable {
    let home: LonghaulHome
    let process: CLIProcess
    let port: Int

    private init(_ home: LonghaulHome, _ process: CLIProcess, _ port: Int) {
        self.home = home
        self.process = process
        self.port = port
    }

    /// Starts `longhaul-serve` in the directory `files` of the home, at a free port.
    static func start(_ home: LonghaulHome? = nil, _ arguments: String...) async throws
        -> ServedHome
    {
        let home = try home ?? LonghaulHome()
        let process = try serve(home, ["--listen", "127.0.0.1:0"] + arguments)
        try await process.waitForOutput("serving at")
        let words = process.errors.split { !$0.isNumber }
        return ServedHome(home, process, try #require(words.last.flatMap { Int($0) }))
    }

    static func serve(_ home: LonghaulHome, _ arguments: [String]) throws -> CLIProcess {
        try CLIProcess(
            try BuiltBinary.named("longhaul-serve"), arguments, environment: home.environment,
            directory: home.scratch("files"))
    }

    struct Answer {
        var status: Int
        var head: String
        var body: String

        var json: JSONValue { get throws { try JSONValue(body) } }
    }

    /// Sends a request, with `Connection: close`, and reads to the end.
    func send(
        _ method: String, _ path: String, _ body: String = "", _ fields: [String] = [],
        host: String? = nil
    ) throws -> Answer {
        let lines =
            [
                "\(method) \(path) HTTP/1.1", "Host: \(host ?? "127.0.0.1:\(port)")",
                "Connection: close", "Content-Length: \(body.utf8.count)",
            ] + fields
        let text = try raw(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
        return try Self.answer(text)
    }

    /// Sends bytes on a connection and reads until the other side closes it, or until the text has
    /// come.
    func raw(_ text: String, until mark: String? = nil) throws -> String {
        let client = try Connection(port)
        client.write(text)
        return client.read(until: mark)
    }

    static func answer(_ text: String) throws -> Answer {
        let end = try #require(text.range(of: "\r\n\r\n"), "\(text)")
        let head = String(text[..<end.lowerBound])
        let words = head.split(separator: " ")
        let status = try #require(words.count > 1 ? Int(words[1]) : nil, "\(text)")
        return Answer(status: status, head: head, body: String(text[end.upperBound...]))
    }

    /// The result of a call over JSON-RPC, or its error.
    func call(_ method: String, _ parameters: String = "[]") throws -> JSONValue {
        let body = #"{"jsonrpc":"2.0","id":"1","method":"\#(method)","params":\#(parameters)}"#
        let answer = try send("POST", "/jsonrpc", body).json
        return answer.has("error") ? answer["error"] : answer["result"]
    }

    func stop() async throws {
        process.send(SIGTERM)
        let end = try await process.wait()
        #expect(end.status == 0, "\(end.errors)")
    }
}

/// A connection of a client, closed with the value.
final class Connection {
    private let descriptor: Int32

    init(_ port: Int) throws {
        descriptor = try #require(ListeningSocket.connect(to: port))
    }

    deinit { close(descriptor) }

    func write(_ text: String) {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return }
            sent += count
        }
    }

    /// At most a minute.
    func read(until mark: String? = nil) -> String {
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &piece, piece.count, 0)
            if count <= 0 { break }
            bytes += piece[..<count]
            if let mark, String(decoding: bytes, as: UTF8.self).contains(mark) { break }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
