import Foundation

/// Power supplies as files of a test, in the form of sysfs.
package struct PowerFixture: Sendable {
    /// The stand-in for `/sys/class/power_supply`.
    package let directory: String

    /// - Parameter sysfs: the stand-in for `/sys`.
    package init(_ sysfs: String) throws {
        directory = sysfs + "/class/power_supply"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
    }

    @discardableResult
    package func supply(
        _ name: String, _ values: KeyValuePairs<String, String>
    ) throws -> PowerFixture {
        let supply = "\(directory)/\(name)"
        try FileManager.default.createDirectory(atPath: supply, withIntermediateDirectories: true)
        for (key, value) in values {
            // Rewritten in place, as sysfs changes: a reader with an open file reads the new value.
            let path = "\(supply)/\(key)"
            guard FileManager.default.createFile(atPath: path, contents: Data("\(value)\n".utf8))
            else { throw SystemFailure("write \(path)") }
        }
        return self
    }

    @discardableResult
    package func mains(online: Int) throws -> PowerFixture {
        try supply("AC", ["type": "Mains", "online": "\(online)"])
    }

    @discardableResult
    package func battery(
        _ percent: Int, _ status: String, name: String = "BAT0"
    ) throws -> PowerFixture {
        try supply(
            name, ["type": "Battery", "present": "1", "capacity": "\(percent)", "status": status])
    }

    /// A program in Python that sends the kernel's event for a change of a power supply. Needs
    /// root; the event reaches the network namespace in which it runs.
    package static let announcement = """
        import socket
        s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15)
        s.sendto(b'change@/devices/x\\0ACTION=change\\0SUBSYSTEM=power_supply\\0', (0, 1))
        """
}
