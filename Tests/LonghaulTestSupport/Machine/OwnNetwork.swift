import Glibc

/// A network namespace around one synchronous test: the threads and programs that it starts are in
/// it too.
package final class OwnNetwork {
    private let before: Int32

    package init() throws {
        before = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)
        guard before >= 0, Self.unshare?(Self.newNetwork) == 0 else {
            throw SystemFailure("a network of its own")
        }
    }

    deinit {
        _ = Self.setns?(before, Self.newNetwork)
        close(before)
    }

    package func ip(_ arguments: String...) throws {
        try Self.ip(arguments)
    }

    /// Sends the kernel's event for a change of a power supply.
    package func announcePowerSupply() throws {
        let announcer = try CLIProcess("/usr/bin/python3", ["-c", PowerFixture.announcement])
        guard try announcer.reap() == .exited(0) else {
            throw FixtureFailed(description: announcer.errors)
        }
    }

    package static func ip(_ arguments: [String]) throws {
        guard let program, try CLIProcess(program, arguments).reap() == .exited(0) else {
            throw FixtureFailed(description: "ip \(arguments)")
        }
    }

    static let program = InstalledProgram.find("ip")

    /// GNU extensions, which the Glibc module leaves out.
    private static let unshare: (@convention(c) (Int32) -> Int32)? = named("unshare")
    private static let setns: (@convention(c) (Int32, Int32) -> Int32)? = named("setns")
    /// CLONE_NEWNET
    private static let newNetwork: Int32 = 0x4000_0000

    private static func named<Function>(_ name: String) -> Function? {
        dlsym(nil, name).map { unsafeBitCast($0, to: Function.self) }
    }

    package static let isPossible: Bool = {
        guard geteuid() == 0, program != nil else { return false }
        return (try? OwnNetwork()) != nil
    }()
}
