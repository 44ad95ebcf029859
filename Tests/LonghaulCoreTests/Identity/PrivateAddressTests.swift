import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// Which addresses a transfer does not go to that refuses private ones.
@Suite struct PrivateAddressTests {
    @Test(
        arguments: [
            ([0, 0, 0, 0], true), ([10, 1, 2, 3], true), ([11, 0, 0, 1], false),
            ([100, 64, 0, 1], true), ([100, 127, 255, 255], true), ([100, 128, 0, 1], false),
            ([127, 0, 0, 1], true), ([127, 9, 9, 9], true), ([128, 0, 0, 1], false),
            ([169, 254, 169, 254], true), ([169, 255, 0, 1], false), ([172, 15, 0, 1], false),
            ([172, 16, 0, 1], true), ([172, 31, 255, 1], true), ([172, 32, 0, 1], false),
            ([192, 0, 0, 8], true), ([192, 0, 1, 8], false), ([192, 168, 1, 1], true),
            ([198, 18, 0, 1], true), ([198, 19, 0, 1], true), ([198, 20, 0, 1], false),
            ([224, 0, 0, 251], true), ([239, 255, 255, 250], true), ([255, 255, 255, 255], true),
            ([1, 1, 1, 1], false), ([223, 255, 255, 255], false),
        ] as [([UInt8], Bool)])
    func ofIPv4(address: [UInt8], isPrivate: Bool) {
        #expect(PrivateAddresses.contain(address) == isPrivate)
        let zeros = [UInt8](repeating: 0, count: 10)
        for embedded in [
            zeros + [0xFF, 0xFF] + address,
            [0, 0x64, 0xFF, 0x9B] + [UInt8](repeating: 0, count: 8) + address,
            [0x20, 0x02] + address + zeros,
        ] {
            #expect(PrivateAddresses.contain(embedded) == isPrivate, "\(embedded)")
        }
    }

    @Test(
        arguments: [
            ([], 0, true), ([], 1, true), ([0xFC], 1, true), ([0xFD, 0x12], 1, true),
            ([0xFE, 0x80], 1, true), ([0xFE, 0xBF], 1, true), ([0xFE, 0xC0], 1, true),
            ([0xFF, 0x02], 0xFB, true), ([0, 0x64, 0xFF, 0x9B, 0, 1], 8, true),
            ([0x20, 0x01, 0x48, 0x60], 0x88, false), ([0x2A], 1, false), ([0xFB], 1, false),
        ] as [([UInt8], UInt8, Bool)])
    func ofIPv6(start: [UInt8], last: UInt8, isPrivate: Bool) {
        let zeros = [UInt8](repeating: 0, count: 15 - start.count)
        #expect(PrivateAddresses.contain(start + zeros + [last]) == isPrivate)
    }
}
