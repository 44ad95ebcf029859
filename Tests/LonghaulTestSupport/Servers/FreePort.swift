import Foundation
import Glibc
import Synchronization

/// Ports that were free a moment ago, for servers that cannot choose one themselves. Callers must
/// be ready to try again with another.
///
/// They are below the kernel's ephemeral ports, and no two callers in one process get the same
/// port: while many servers start at once, another one would answer in its place.
enum FreePort {
    private static let range = 16_384..<32_768
    private static let next = Atomic(Int.random(in: range))

    /// Distinct TCP ports of 127.0.0.1.
    static func some(_ count: Int) throws -> [Int] {
        var found: [Int] = []
        for _ in range where found.count < count {
            let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
            let port = range.lowerBound + number % range.count
            if try isFree(port) { found.append(port) }
        }
        guard found.count == count else { throw SystemFailure("find a port", code: EADDRINUSE) }
        return found
    }

    private static func isFree(_ port: Int) throws -> Bool {
        let descriptor = newSocket()
        guard descriptor >= 0 else { throw SystemFailure("socket") }
        defer { close(descriptor) }
        return (try? bindLoopback(descriptor, to: port)) != nil
    }

    /// Whether something listens there.
    static func answers(_ port: Int) -> Bool {
        guard let descriptor = connect(to: port) else { return false }
        close(descriptor)
        return true
    }

    fileprivate static func connect(to port: Int) -> Int32? {
        let descriptor = newSocket()
        guard descriptor >= 0 else { return nil }
        var address = loopback(port)
        if withSockaddr(&address, { Glibc.connect(descriptor, $0, $1) }) == 0 { return descriptor }
        close(descriptor)
        return nil
    }

    static func bindLoopback(_ descriptor: Int32, to port: Int = 0) throws -> Int {
        try bind(descriptor, to: loopback(port))
    }

    /// Returns the port, also if the kernel has chosen it.
    fileprivate static func bind(_ descriptor: Int32, to address: sockaddr_in) throws -> Int {
        var address = address
        guard withSockaddr(&address, { Glibc.bind(descriptor, $0, $1) }) == 0 else {
            throw SystemFailure("bind")
        }
        let answer = withSockaddr(&address) { pointer, size in
            var size = size
            return getsockname(descriptor, pointer, &size)
        }
        guard answer == 0 else { throw SystemFailure("getsockname") }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    static func newSocket() -> Int32 {
        let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue
        return socket(AF_INET, Int32(type), 0)
    }

    fileprivate static func loopback(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr = in_addr(s_addr: INADDR_LOOPBACK.bigEndian)
        return address
    }

    private static func withSockaddr(
        _ address: inout sockaddr_in,
        _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}

/// A listening socket on a port that the kernel has chosen. Its creator closes it.
package struct ListeningSocket: Sendable {
    package let descriptor: Int32
    package let port: Int

    /// A connection to the listener there, at 127.0.0.1; `nil` = there is none.
    package static func connect(to port: Int) -> Int32? { FreePort.connect(to: port) }

    /// - Parameter onEveryAddress: not only on 127.0.0.1.
    package init(backlog: Int32, onEveryAddress: Bool = false) throws {
        descriptor = FreePort.newSocket()
        guard descriptor >= 0 else { throw SystemFailure("socket") }
        var address = FreePort.loopback(0)
        if onEveryAddress { address.sin_addr = in_addr(s_addr: INADDR_ANY) }
        do {
            port = try FreePort.bind(descriptor, to: address)
            guard listen(descriptor, backlog) == 0 else { throw SystemFailure("listen") }
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Passes each connection to `serve`, on a thread of its own. The thread ends, and closes the
    /// socket, when `serve` returns that the peer is gone, or after ``stop()``.
    package func acceptEach(_ serve: @escaping @Sendable (Int32) -> Bool) {
        Thread {
            while true {
                let client = accept(descriptor, nil, nil)
                if client < 0 || !serve(client) { break }
            }
            close(descriptor)
        }.start()
    }

    package func stop() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}

/// A socket that is bound to a port without listening, so that the kernel refuses connections to
/// the port and does not assign it again.
final class PortReservation: Sendable {
    let port: Int
    private let descriptor: Int32

    /// The present listener on the port must have set SO_REUSEPORT too.
    init(_ port: Int) throws {
        descriptor = FreePort.newSocket()
        guard descriptor >= 0 else { throw SystemFailure("socket") }
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, socklen_t(MemoryLayout<Int32>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        do {
            self.port = try FreePort.bindLoopback(descriptor, to: port)
        } catch {
            close(descriptor)
            throw error
        }
    }

    deinit { close(descriptor) }
}
