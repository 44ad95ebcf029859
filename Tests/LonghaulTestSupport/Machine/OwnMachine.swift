import Foundation
import Glibc

/// A named network namespace in which programs are started. It has only its loopback interface and
/// the test's own interfaces, and the test's own power supplies if there are any.
package final class OwnMachine {
    package let name: String

    package static let isPossible: Bool = {
        guard geteuid() == 0, OwnNetwork.program != nil else { return false }
        return (try? OwnMachine()) != nil
    }()

    /// Whether power supplies of a test can be mounted.
    package static let hasPowerSupplies =
        access("/sys/class/power_supply", X_OK) == 0 && InstalledProgram.find("unshare") != nil

    package init() throws {
        // A name can be in use by another test's machine, and the kernel bounds its length.
        name = "lh-" + String(UInt32.random(in: 0...UInt32.max), radix: 36)
        try OwnNetwork.ip(["netns", "add", name])
        try ip("link", "set", "lo", "up")
    }

    deinit { try? OwnNetwork.ip(["netns", "delete", name]) }

    package func ip(_ arguments: String...) throws {
        try OwnNetwork.ip(["-n", name] + arguments)
    }

    /// Connects it to another machine with a cable.
    ///
    /// - Parameters:
    ///   - address: this end's, on an interface `eth0` that is switched on.
    ///   - far: the other end's, likewise.
    package func cable(_ address: String, to other: OwnMachine, _ far: String) throws {
        try ip(
            "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", other.name)
        for (machine, address) in [(self, address), (other, far)] {
            try machine.add(address)
            try machine.ip("link", "set", "eth0", "up")
        }
    }

    /// An address on `eth0`, to be used at once.
    package func add(_ address: String) throws {
        let isIPv6 = address.contains(":")
        try OwnNetwork.ip(
            ["-n", name, "address", "add", address, "dev", "eth0"] + (isIPv6 ? ["nodad"] : []))
    }

    /// The command that starts a program on this machine; its path and arguments follow.
    ///
    /// - Parameters:
    ///   - supplies: the power supplies of the machine; default: those of the real one.
    ///   - terminals: its terminals and its load; default: those of the real one.
    ///   - isContained: in a user namespace too, as containers are: the kernel's device events do
    ///     not reach it.
    package func launcher(
        supplies: PowerFixture? = nil, terminals: TerminalFixture? = nil, isContained: Bool = false
    ) -> [String] {
        var words = [OwnNetwork.program ?? "ip", "netns", "exec", name]
        if let supplies {
            // `ip netns exec` has made a mount namespace of its own.
            words += [
                "/bin/sh", "-c", "mount --bind \"$0\" /sys/class/power_supply && exec \"$@\"",
                supplies.directory,
            ]
        }
        if let terminals { words += terminals.mounting }
        if isContained {
            words += [InstalledProgram.find("unshare") ?? "unshare", "--user", "--map-root-user"]
        }
        return words
    }

    /// Sends the kernel's event for a change of a power supply.
    package func announcePowerSupply() throws {
        let words = launcher() + ["/usr/bin/python3", "-c", PowerFixture.announcement]
        let announcer = try CLIProcess(words[0], Array(words.dropFirst()))
        guard try announcer.reap() == .exited(0) else {
            throw FixtureFailed(description: announcer.errors)
        }
    }
}

/// The loopback server as a separate program, on a test's own machine.
package final class RemoteServer {
    package let port: Int
    private let address: String
    private let process: CLIProcess

    package static func start(
        on machine: OwnMachine, address: String = "127.0.0.1"
    ) async throws -> RemoteServer {
        let words =
            machine.launcher() + [
                try BuiltBinary.named("LonghaulTestServer"), "--address", address,
            ]
        let process = try CLIProcess(words[0], Array(words.dropFirst()))
        try await process.waitForOutput("\n")
        guard
            let line = process.output.split(separator: "\n").first,
            let port = line.split(separator: " ").last.flatMap({ Int($0) })
        else { throw FixtureFailed(description: process.output + process.errors) }
        return RemoteServer(process, address: address, port: port)
    }

    private init(_ process: CLIProcess, address: String, port: Int) {
        self.process = process
        self.address = address
        self.port = port
    }

    package func url(_ nameAndKnobs: String) -> String {
        let host = address.contains(":") ? "[\(address)]" : address
        return "http://\(host):\(port)/f/\(nameAndKnobs)"
    }

    /// The content of an honest first answer.
    package func expected(_ nameAndKnobs: String) throws -> Representation {
        let query = nameAndKnobs.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        return Representation(try Knobs(query: query), request: 1)
    }

    /// The requests that have ended, in the order in which they came.
    package var log: [JSONValue] {
        get throws {
            let lines = process.output.split(separator: "\n").dropFirst().joined(separator: "\n")
            return try JSONValue.lines(lines).sorted {
                ($0["number"].int ?? 0) < ($1["number"].int ?? 0)
            }
        }
    }
}
