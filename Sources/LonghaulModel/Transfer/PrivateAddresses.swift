/// The permission to use addresses that are not public: this machine's, its network's, and others
/// that no server of the internet has.
///
/// A program that fetches URLs of strangers refuses them: a URL, or a redirect of its server, could
/// otherwise lead to servers that only this machine reaches. Each address is checked before a
/// connection is made to it, so that a name that resolves to a private address is refused, too.
/// Behind a proxy the proxy decides: its own address is not checked, and it may reach any address.
public enum PrivateAddresses: String, Codable, Sendable, CaseIterable {
    /// Any address is as good as another.
    case allow
    /// The attempt fails, and the transfer with it where it has no mirror.
    case refuse
}

extension PrivateAddresses {
    /// True if the address, 4 or 16 bytes, is not on the public internet (IANA's registries of
    /// special-purpose addresses, RFC 6890).
    package static func contain(_ address: [UInt8]) -> Bool {
        assert([4, 16].contains(address.count), "an address is one of IPv4 or IPv6")
        if address.count == 4 { return v4.contains { $0.contains(address) } }
        if v6.contains(where: { $0.contains(address) }) { return true }
        // Addresses with an IPv4 address in them, which the packets reach.
        for (network, offset) in embedding where network.contains(address) {
            return contain(Array(address[offset..<offset + 4]))
        }
        return false
    }

    private struct Network {
        var start: [UInt8]
        var bits: Int

        init(_ start: [UInt8], _ bits: Int) {
            self.start = start
            self.bits = bits
        }

        func contains(_ address: [UInt8]) -> Bool {
            zip(start, address).enumerated().allSatisfy { index, pair in
                let bits = min(8, self.bits - index * 8)
                return bits <= 0 || (pair.0 ^ pair.1) >> UInt8(8 - bits) == 0
            }
        }
    }

    private static let v4 = [
        // This network, private ones, carrier-grade NAT (RFC 6598), loopback, link-local.
        Network([0], 8), Network([10], 8), Network([100, 64], 10), Network([127], 8),
        Network([169, 254], 16), Network([172, 16], 12), Network([192, 168], 16),
        // Protocol assignments, benchmarks (RFC 2544), multicast, reserved and broadcast.
        Network([192, 0, 0], 24), Network([198, 18], 15), Network([224], 4), Network([240], 4),
    ]

    private static let v6 = [
        // Unspecified and loopback; addresses of one network (RFC 4193), link-local, site-local,
        // multicast; NAT64 of a network's own prefix (RFC 8215).
        Network([UInt8](repeating: 0, count: 15) + [0], 127), Network([0xFC], 7),
        Network([0xFE, 0x80], 10), Network([0xFE, 0xC0], 10), Network([0xFF], 8),
        Network([0, 0x64, 0xFF, 0x9B, 0, 1], 48),
    ]

    /// Networks, and the place of the IPv4 address in their addresses: mapped and compatible ones
    /// (RFC 4291 §2.5.5), NAT64 (RFC 6052), 6to4 (RFC 3056).
    private static let embedding: [(Network, Int)] = [
        (Network([UInt8](repeating: 0, count: 10) + [0xFF, 0xFF], 96), 12),
        (Network([UInt8](repeating: 0, count: 12), 96), 12),
        (Network([0, 0x64, 0xFF, 0x9B] + [UInt8](repeating: 0, count: 8), 96), 12),
        (Network([0x20, 0x02], 16), 2),
    ]
}

extension LonghaulError {
    /// The host has no address that the request may go to.
    static func privateAddress(of host: String) -> LonghaulError {
        LonghaulError(
            .unsupported,
            "\(TerminalText.shown(host)) has a private address, and the request refuses these;"
                + " with --private-addresses allow it would go there")
    }
}
