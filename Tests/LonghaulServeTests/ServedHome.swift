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

    /// - Parameter directory: of the home, in which it is started.
    static func serve(
        _ home: LonghaulHome, _ arguments: [String], in directory: String = "files"
    ) throws -> CLIProcess {
        try CLIProcess(
            try BuiltBinary.named("longhaul-serve"), arguments, environment: home.environment,
            directory: home.scratch(directory))
    }

    /// Starts it with a secret.
    static func start(secret: String) async throws -> ServedHome {
        let home = try LonghaulHome()
        return try await start(home, "--secret-file", try secretFile(secret + "\n", home))
    }

    /// Writes a file that its owner alone can read.
    static func secretFile(_ text: String, _ home: LonghaulHome) throws -> String {
        let path = try home.scratch.write(text, to: "secret")
        chmod(path, 0o600)
        return path
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

    /// A call over JSON-RPC by GET.
    func link(_ method: String, _ parameters: String) throws -> Answer {
        let text = Data(parameters.utf8).base64EncodedString().replacing("+", with: "%2B")
        return try send("GET", "/jsonrpc?id=1&method=\(method)&params=\(text)")
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
        write(Array(text.utf8))
    }

    func write(_ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return }
            sent += count
        }
    }

    /// Sends no more, but reads on.
    func endWriting() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Sends the text over and over for as long as the other side takes it.
    ///
    /// - Returns: The number of bytes that were taken, at most a little more than `most`.
    func fill(with text: [UInt8], upTo most: Int) -> Int {
        let bytes = (0..<(1 + 65_536 / text.count)).flatMap { _ in text }
        var (sent, offset) = (0, 0)
        while sent < most {
            let count = bytes[offset...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            if count > 0 {
                sent += count
                offset = (offset + count) % bytes.count
                continue
            }
            var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            if errno != EAGAIN || poll(&wait, 1, 1000) <= 0 { break }
        }
        return sent
    }

    /// The other side has closed it; nothing was sent back.
    var isClosed: Bool {
        var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&wait, 1, 0) > 0
    }

    /// Becomes a connection over WebSocket.
    func upgrade(_ fields: String = "") throws {
        write(
            "GET /jsonrpc HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                + "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\(fields)\r\n")
        let answer = read(until: "\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 101"), "\(answer)")
    }

    /// A text as a frame with a mask of zeros (RFC 6455 §5.2).
    static func frame(_ text: String) -> [UInt8] {
        let length = text.utf8.count
        let size: [UInt8] =
            length < 126
            ? [0x80 | UInt8(length)]
            : [0xFF] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) }
        return [0x81] + size + [0, 0, 0, 0] + text.utf8
    }

    /// At most a minute.
    func read(until mark: String? = nil) -> String {
        String(decoding: readBytes(until: mark), as: UTF8.self)
    }

    func readBytes(until mark: String? = nil) -> [UInt8] {
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
        return bytes
    }
}
