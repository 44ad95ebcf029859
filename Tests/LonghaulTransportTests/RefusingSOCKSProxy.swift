import Foundation
import Glibc
import LonghaulTestSupport

/// A SOCKS5 proxy that asks for a user and a password (RFC 1929) and accepts none.
final class RefusingSOCKSProxy: Sendable {
    let port: Int
    private let listener: Int32

    init() throws {
        let socket = try ListeningSocket(backlog: 8)
        let listener = socket.descriptor
        self.listener = listener
        port = socket.port
        Thread {
            while true {
                let client = accept(listener, nil, nil)
                if client < 0 { break }
                Self.refuse(client)
                close(client)
            }
            close(listener)
        }.start()
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    private static func refuse(_ client: Int32) {
        var buffer = [UInt8](repeating: 0, count: 600)
        // The method; the refusal; and what comes when the client has read it.
        for reply in [[5, 2], [1, 1], []] as [[UInt8]] {
            if recv(client, &buffer, buffer.count, 0) <= 0 { return }
            if send(client, reply, reply.count, Int32(MSG_NOSIGNAL)) < 0 { return }
        }
    }
}
