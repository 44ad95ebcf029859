import Foundation
import Glibc
import LonghaulTestSupport

/// An FTP server as far as the login, with the replies that a test wrote down.
final class ScriptedFTPServer: Sendable {
    private let listener: ListeningSocket
    var port: Int { listener.port }

    /// - Parameter replies: to the connection itself, and then to each command. After the last one
    ///   the connection is closed.
    init(_ replies: [String]) throws {
        listener = try ListeningSocket(backlog: 8)
        listener.acceptEach { client in
            Self.play(replies, to: client)
            close(client)
            return true
        }
    }

    deinit { listener.stop() }

    private static func play(_ replies: [String], to client: Int32) {
        for reply in replies {
            let bytes = Array(reply.utf8) + [0x0D, 0x0A]
            if send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL)) < 0 { return }
            var byte: UInt8 = 0
            while recv(client, &byte, 1, 0) == 1, byte != 0x0A {}
        }
    }
}
