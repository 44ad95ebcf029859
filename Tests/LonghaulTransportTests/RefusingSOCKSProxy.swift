import Foundation
import Glibc
import LonghaulTestSupport

/// A SOCKS5 proxy that refuses.
final class RefusingSOCKSProxy: Sendable {
    private let listener: ListeningSocket
    var port: Int { listener.port }

    /// A user and a password are asked for (RFC 1929), and none is accepted.
    static let credentials: [[UInt8]] = [[5, 2], [1, 1], []]

    /// - Parameter replies: To what comes, one after the other; the last to what comes when the
    ///   client has read the refusal.
    init(_ replies: [[UInt8]] = credentials) throws {
        listener = try ListeningSocket(backlog: 8)
        listener.acceptEach { client in
            Self.refuse(client, replies)
            close(client)
            return true
        }
    }

    deinit { listener.stop() }

    private static func refuse(_ client: Int32, _ replies: [[UInt8]]) {
        var buffer = [UInt8](repeating: 0, count: 600)
        for reply in replies {
            if recv(client, &buffer, buffer.count, 0) <= 0 { return }
            if send(client, reply, reply.count, Int32(MSG_NOSIGNAL)) < 0 { return }
        }
    }
}
