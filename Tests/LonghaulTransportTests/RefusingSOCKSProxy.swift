import Foundation
import Glibc
import LonghaulTestSupport

/// A SOCKS5 proxy that asks for a user and a password (RFC 1929) and accepts none.
final class RefusingSOCKSProxy: Sendable {
    private let listener: ListeningSocket
    var port: Int { listener.port }

    init() throws {
        listener = try ListeningSocket(backlog: 8)
        listener.acceptEach { client in
            Self.refuse(client)
            close(client)
            return true
        }
    }

    deinit { listener.stop() }

    private static func refuse(_ client: Int32) {
        var buffer = [UInt8](repeating: 0, count: 600)
        // The method; the refusal; and what comes when the client has read it.
        for reply in [[5, 2], [1, 1], []] as [[UInt8]] {
            if recv(client, &buffer, buffer.count, 0) <= 0 { return }
            if send(client, reply, reply.count, Int32(MSG_NOSIGNAL)) < 0 { return }
        }
    }
}
