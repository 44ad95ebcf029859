import Foundation
import Glibc
import LonghaulTestSupport
import Synchronization
import Testing

/// A service manager's end of sd_notify(3): a socket on which a service says how it does.
final class NotifySocket: Sendable {
    struct Message: Sendable {
        var lines: [String]
        var at: ContinuousClock.Instant
    }

    let path: String
    private let descriptor: Int32
    private let heard = Mutex<[Message]>([])

    init(in scratch: Scratch) throws {
        path = scratch("notify")
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0, "bind \(path): errno \(errno)")
    }

    deinit {
        close(descriptor)
    }

    /// All that has been said so far.
    var messages: [Message] {
        heard.withLock { heard in
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
                if count < 0 { return heard }
                let text = String(decoding: buffer[..<count], as: UTF8.self)
                heard.append(
                    Message(lines: text.split(separator: "\n").map(String.init), at: .now))
            }
        }
    }

    /// Every line, in order.
    var lines: [String] { messages.flatMap(\.lines) }

    func count(_ line: String) -> Int { lines.count { $0 == line } }
}
