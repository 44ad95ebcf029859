internal import Glibc

/// An IP address, read from its usual notation as inet_pton(3) does. The other spellings that
/// resolvers take (`127.1`, `0x7f.1`, `2130706433`) are not addresses here: browsers and programs
/// do not agree about them.
package struct HostAddress: Hashable, Sendable {
    /// 4 of IPv4, 16 of IPv6.
    package let bytes: [UInt8]

    package init?(_ text: some StringProtocol) {
        let text = String(text)
        let found = HostAddress.read(text, AF_INET, 4) ?? HostAddress.read(text, AF_INET6, 16)
        guard let found else { return nil }
        bytes = found
    }

    private static func read(_ text: String, _ family: Int32, _ count: Int) -> [UInt8]? {
        // A text of C would end at the zero byte, and the rest go unread.
        if text.utf8.contains(0) { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        return inet_pton(family, text, &bytes) == 1 ? bytes : nil
    }

    package var isIPv6: Bool { bytes.count == 16 }

    /// Other machines cannot reach it.
    package var isLoopback: Bool {
        isIPv6 ? bytes.last == 1 && bytes.dropLast().allSatisfy { $0 == 0 } : bytes[0] == 127
    }

    /// A machine may be asked for by it. The unspecified address leads to this machine as well, and
    /// so do IPv4 addresses inside of IPv6 (`::ffff:127.0.0.1`). But browsers do not count these as
    /// local, and do not mark the requests that pages of other sites send to them.
    package var namesAMachine: Bool {
        if !isIPv6 { return bytes[0] != 0 }
        let isEmpty = bytes[..<10].allSatisfy { $0 == 0 }
        let holdsIPv4 = isEmpty && (bytes[10...11] == [0, 0] || bytes[10...11] == [0xFF, 0xFF])
        return isLoopback || !holdsIPv4
    }
}
