internal import Glibc
internal import LonghaulModel

/// Facts of the kernel about a process group (proc(5)).
package enum ProcessGroup {
    /// Seconds of processor time used by the group's processes and their awaited children. `nil` =
    /// there is no such group, or /proc cannot be read.
    package static func processorSeconds(_ leader: Int32) -> Double? {
        guard let directory = opendir("/proc") else { return nil }
        defer { closedir(directory) }
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        var used: Double?
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard Int32(name) != nil, let fields = statistics(name),
                fields.group == leader, ticks > 0
            else { continue }
            used = (used ?? 0) + Double(fields.ticks) / ticks
        }
        return used
    }

    /// The fields after the command, whose name may contain anything: they begin behind its last
    /// parenthesis.
    private static func statistics(_ process: String) -> (group: Int32, ticks: Int64)? {
        let file = open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        let descriptor = Descriptor(owning: file)
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = uninterrupted { Glibc.read(descriptor.number, &buffer, buffer.count) }
        guard count > 0, let end = buffer[..<count].lastIndex(of: UInt8(ascii: ")")) else {
            return nil
        }
        let fields = String(decoding: buffer[(end + 1)..<count], as: UTF8.self)
            .split(separator: " ")
        // 0 state, 1 parent, 2 group, 11–14 user, system, children's user and system time.
        guard fields.count > 14, let group = Int32(fields[2]) else { return nil }
        return (group, fields[11...14].compactMap { Int64($0) }.reduce(0, +))
    }
}
