/// Tells one boot of the kernel from another: as long as it is the same, the page cache is the
/// same.
package struct BootID: Hashable, Sendable {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// A UUID as the kernel writes it; `nil` for anything else.
    package init?(_ text: some StringProtocol) {
        let digits = text.utf8.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "\n") }
        // A sign is no digit, though the conversion takes one.
        guard digits.count == 32, text.utf8.count <= 37, !digits.contains(UInt8(ascii: "+")),
            let high = UInt64(String(decoding: digits[..<16], as: UTF8.self), radix: 16),
            let low = UInt64(String(decoding: digits[16...], as: UTF8.self), radix: 16)
        else { return nil }
        self.init(high: high, low: low)
    }

    /// 32 hexadecimal digits: what is stored, and read by ``init(_:)``.
    package var text: String {
        [high, low].map { half in
            let digits = String(half, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Of the running kernel; `nil` where /proc is not mounted.
    package static var current: BootID? {
        (try? smallFile("/proc/sys/kernel/random/boot_id")).flatMap { BootID($0) }
    }
}
