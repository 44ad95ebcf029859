import Foundation
import Glibc

/// An FTP server as far as the login, with the replies that a test wrote down.
final class ScriptedFTPServer: Sendable {
    let port: UInt16
    private let listener: Int32

    /// - Parameter replies: to the connection itself, and then to each command. After the last one
    ///   the connection is closed.
    init(_ replies: [String]) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, length) == 0 && listen(listener, 8) == 0
                    && getsockname(listener, pointer, &length) == 0
            }
        }
        guard listener >= 0, isBound else { throw POSIXError(.EADDRNOTAVAIL) }
        self.listener = listener
        port = UInt16(bigEndian: address.sin_port)
        Thread {
            while true {
                let client = accept(listener, nil, nil)
                if client < 0 { break }
                Self.play(replies, to: client)
                close(client)
            }
            close(listener)
        }.start()
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    private static func play(_ replies: [String], to client: Int32) {
        for reply in replies {
            let bytes = Array(reply.utf8) + [0x0D, 0x0A]
            if send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL)) < 0 { return }
            var byte: UInt8 = 0
            while recv(client, &byte, 1, 0) == 1, byte != 0x0A {}
        }
    }
}
