import Foundation
import Glibc
import LonghaulTestSupport
import Synchronization

/// A server that answers with exactly the bytes that a test wrote down: for answers that no decent
/// server gives.
///
/// One thread accepts, one serves each connection, request after request. It ends with the value.
final class ScriptedServer: Sendable {
    /// What is done for one request, in order.
    enum Step: Sendable {
        case send([UInt8])
        /// Go on when the test says ``release()``.
        case await
        /// Nothing more; the connection stays open until the client closes it.
        case hang
        /// Close the connection: at the end of the script it stays open for the next request.
        case close
        /// Close it with a reset.
        case reset

        static func send(_ text: String) -> Step { .send(Array(text.utf8)) }
    }

    struct Request: Sendable {
        var connection: Int
        var line: String
        var fields: [String]

        func value(_ name: String) -> String? {
            let prefix = name.lowercased() + ":"
            guard let field = fields.first(where: { $0.lowercased().hasPrefix(prefix) }) else {
                return nil
            }
            return field.dropFirst(prefix.count).trimmingCharacters(in: .whitespaces)
        }

        var path: String { String(line.split(separator: " ")[1]) }
    }

    private struct State {
        var requests: [Request] = []
        var connections = 0
        var open: [Int32] = []
        var openAtMost = 0
        var isReleased = false
    }

    private let listener: ListeningSocket
    var port: Int { listener.port }
    private let state = Mutex(State())
    private let condition = NSCondition()
    private let script: @Sendable (Request) -> [Step]

    init(_ script: @escaping @Sendable (Request) -> [Step]) throws {
        self.script = script
        listener = try ListeningSocket(backlog: 128)
        listener.acceptEach { [weak self] client in
            self?.serve(client)
            return self != nil
        }
    }

    deinit {
        listener.stop()
        for client in state.withLock({ $0.open }) { shutdown(client, Int32(SHUT_RDWR)) }
    }

    func url(_ path: String = "/file") -> String { "http://127.0.0.1:\(port)\(path)" }
    /// The same server under another name, and so another origin.
    func otherOrigin(_ path: String = "/file") -> String { "http://localhost:\(port)\(path)" }

    var requests: [Request] { state.withLock { $0.requests } }
    var connections: Int { state.withLock { $0.connections } }
    var openNow: Int { state.withLock { $0.open.count } }
    /// The most connections that were open at a time.
    var openAtMost: Int { state.withLock { $0.openAtMost } }

    /// Lets scripts go on that stand at `await`.
    func release() {
        condition.withLock {
            state.withLock { $0.isReleased = true }
            condition.broadcast()
        }
    }

    // MARK: - Serving

    private func serve(_ client: Int32) {
        let number = state.withLock { state in
            state.connections += 1
            state.open.append(client)
            state.openAtMost = max(state.openAtMost, state.open.count)
            return state.connections
        }
        Thread { [weak self] in
            var buffer: [UInt8] = []
            while let request = Self.readHead(client, &buffer, connection: number) {
                guard let self else { break }
                self.state.withLock { $0.requests.append(request) }
                guard self.play(self.script(request), to: client) else { break }
            }
            self?.state.withLock { $0.open.removeAll { $0 == client } }
            close(client)
        }.start()
    }

    /// False when the connection is over.
    private func play(_ steps: [Step], to client: Int32) -> Bool {
        for step in steps {
            switch step {
            case .send(let bytes):
                guard Self.sendAll(client, bytes) else { return false }
            case .await:
                condition.withLock {
                    while !state.withLock({ $0.isReleased }) { condition.wait() }
                }
            case .hang:
                var byte: UInt8 = 0
                while recv(client, &byte, 1, 0) > 0 {}
                return false
            case .close:
                return false
            case .reset:
                var hard = linger(l_onoff: 1, l_linger: 0)
                setsockopt(
                    client, SOL_SOCKET, SO_LINGER, &hard, socklen_t(MemoryLayout<linger>.size))
                return false
            }
        }
        return true
    }

    private static func sendAll(_ client: Int32, _ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return false }
            sent += count
        }
        return true
    }

    private static func readHead(
        _ client: Int32, _ buffer: inout [UInt8], connection: Int
    ) -> Request? {
        let separator = Data("\r\n\r\n".utf8)
        while true {
            let data = Data(buffer)
            if let end = data.range(of: separator) {
                let text = String(decoding: data[..<end.lowerBound], as: UTF8.self)
                buffer = Array(data[end.upperBound...])
                var lines = text.components(separatedBy: "\r\n")
                let line = lines.removeFirst()
                return Request(connection: connection, line: line, fields: lines)
            }
            var chunk = [UInt8](repeating: 0, count: 4096)
            let count = recv(client, &chunk, chunk.count, 0)
            if count <= 0 { return nil }
            buffer += chunk[..<count]
        }
    }
}

/// The common answer: a head with Content-Length, and the body.
func answer(_ status: String = "200 OK", _ fields: [String] = [], body: [UInt8])
    -> ScriptedServer.Step
{
    let head = ["HTTP/1.1 \(status)", "Content-Length: \(body.count)"] + fields
    return .send(Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body)
}

/// Bytes that tell their offset, so that a misplaced one shows.
func pattern(_ range: Range<Int>) -> [UInt8] {
    range.map { offset in UInt8(truncatingIfNeeded: offset &* 31 &+ offset >> 8) }
}
