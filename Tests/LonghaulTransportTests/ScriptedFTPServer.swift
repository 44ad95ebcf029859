import Foundation
import Glibc
import LonghaulTestSupport

/// An FTP server with the replies that a test wrote down.
final class ScriptedFTPServer: Sendable {
    private let listener: ListeningSocket
    private let data: ListeningSocket?
    var port: Int { listener.port }

    /// As far as the login.
    ///
    /// - Parameter replies: to the connection itself, and then to each command. After the last one
    ///   the connection is closed.
    init(_ replies: [String]) throws {
        data = nil
        listener = try ListeningSocket(backlog: 8)
        listener.acceptEach { client in
            for reply in replies where Self.say(reply, to: client) { _ = Self.line(from: client) }
            close(client)
            return true
        }
    }

    /// With one file.
    ///
    /// - Parameter replies: to SIZE and the like, by command; 502 to those that are not there.
    /// - Parameter closesIdle: What is asked on a connection after a file meets its end.
    init(file: [UInt8], replies: [String: String], closesIdle: Bool = false) throws {
        let data = try ListeningSocket(backlog: 8)
        self.data = data
        data.acceptEach { client in
            _ = send(client, file, file.count, Int32(MSG_NOSIGNAL))
            close(client)
            return true
        }
        let known = [
            "USER": "331 pw", "PASS": "230 in", "PWD": "257 \"/\"", "TYPE": "200 ok",
            "EPSV": "229 here (|||\(data.port)|)", "RETR": "150 comes\r\n226 came",
        ]
        let replies = known.merging(replies) { $1 }
        listener = try ListeningSocket(backlog: 8)
        listener.acceptEach { client in
            var reply = "220 hi"
            var isIdle = false
            while Self.say(reply, to: client), let line = Self.line(from: client) {
                let command = String(line.prefix { $0 != " " })
                if closesIdle, isIdle {
                    _ = Self.say("421 No transfer timeout", to: client)
                    break
                }
                reply = replies[command] ?? "502 no"
                isIdle = command == "RETR"
            }
            close(client)
            return true
        }
    }

    deinit {
        listener.stop()
        data?.stop()
    }

    /// An empty reply is none: the server goes on listening.
    private static func say(_ reply: String, to client: Int32) -> Bool {
        if reply.isEmpty { return true }
        let bytes = Array(reply.utf8) + [0x0D, 0x0A]
        return send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL)) > 0
    }

    private static func line(from client: Int32) -> String? {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while recv(client, &byte, 1, 0) == 1 {
            if byte == 0x0A { return String(decoding: line.filter { $0 != 0x0D }, as: UTF8.self) }
            line.append(byte)
        }
        return nil
    }
}
