import Foundation
import Glibc
import LonghaulTestSupport
import Synchronization

/// Hands the bytes of each connection on to a server, until the connections that there are go
/// silent: nothing more comes or goes on them, and nobody closes them. So does a path whose address
/// translation has forgotten them. New ones are as before.
final class SilencedRelay: Sendable {
    private let listener: ListeningSocket
    var port: Int { listener.port }
    private let state = Mutex(State())
    /// Bytes per tenth of a second that the line to the client takes; `nil` = as many as come.
    private let pace: Int?

    private struct State {
        var sockets: [Int32] = []
        var accepted = 0
        /// Those with a lower number.
        var silent = 0
    }

    convenience init(to target: Int, pace: Int? = nil) throws {
        try self.init(to: [target], pace: pace)
    }

    /// - Parameter targets: of the first connection, the second and so on; the last one's is that
    ///   of all further ones, too.
    init(to targets: [Int], pace: Int? = nil) throws {
        self.pace = pace
        listener = try ListeningSocket(backlog: 64)
        listener.acceptEach { [weak self] client in
            self?.relay(client, targets)
            return self != nil
        }
    }

    deinit {
        listener.stop()
        cut()
    }

    var accepted: Int { state.withLock { $0.accepted } }

    func silence() { state.withLock { $0.silent = $0.accepted } }

    /// Ends the connections that there are, on both sides.
    func cut() {
        for socket in state.withLock({ $0.sockets }) { shutdown(socket, Int32(SHUT_RDWR)) }
    }

    private func relay(_ client: Int32, _ targets: [Int]) {
        let target = targets[min(accepted, targets.count - 1)]
        guard let server = ListeningSocket.connect(to: target) else {
            close(client)
            return
        }
        let number = state.withLock { state in
            state.accepted += 1
            state.sockets += [client, server]
            return state.accepted - 1
        }
        for (from, to) in [(client, server), (server, client)] {
            let pace = from == server ? pace : nil
            Thread { [weak self] in
                var buffer = [UInt8](repeating: 0, count: pace ?? 16384)
                while true {
                    let count = recv(from, &buffer, buffer.count, 0)
                    if count <= 0 { break }
                    guard let self else { break }
                    if self.state.withLock({ number < $0.silent }) { continue }
                    if send(to, buffer, count, Int32(MSG_NOSIGNAL)) < 0 { break }
                    if pace != nil { usleep(100_000) }
                }
                guard let self, self.state.withLock({ number >= $0.silent }) else { return }
                shutdown(to, Int32(SHUT_WR))
            }.start()
        }
    }
}
