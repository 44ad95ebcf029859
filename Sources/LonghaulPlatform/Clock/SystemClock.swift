internal import Glibc
internal import CLonghaul
package import LonghaulCore

/// The two clocks of the machine. Only the engine's turn and the commands read them; everything
/// else is told the time.
package enum SystemClock {
    /// The monotonic half goes on while the machine sleeps (CLOCK_BOOTTIME): a stall or a box of
    /// time ends after a suspend as it would have without.
    package static func now() -> Moment {
        Moment(
            wall: Timestamp(milliseconds: lh_clock_realtime_milliseconds()),
            monotonic: Instant(nanoseconds: lh_clock_boottime()))
    }
}

/// The machine's time zone: `TZ`, else /etc/localtime.
package enum LocalClock {
    /// How far local time is ahead of UTC at a moment.
    package static func secondsFromUTC(_ time: Timestamp) -> Int {
        // localtime_r(3) alone need not notice that the zone was changed.
        tzset()
        var seconds = time_t(time.milliseconds.quotientAndRemainder(dividingBy: 1000).quotient)
        var parts = tm()
        return localtime_r(&seconds, &parts) == nil ? 0 : parts.tm_gmtoff
    }
}

/// Waiting for a bounded time, for those who poll because nothing tells them.
package enum Pause {
    package static func seconds(_ seconds: Double) {
        guard seconds > 0 else { return }
        var time = timespec()
        time.tv_sec = Int(seconds)
        time.tv_nsec = Int((seconds - Double(time.tv_sec)) * 1e9)
        var rest = timespec()
        while nanosleep(&time, &rest) < 0, errno == EINTR { time = rest }
    }
}

/// Randomness of the kernel, for seeds and jitter. What decides anything takes a generator as a
/// parameter.
package struct SystemRandom: RandomNumberGenerator, Sendable {
    package init() {}

    package mutating func next() -> UInt64 {
        var value: UInt64 = 0
        let answer = withUnsafeMutableBytes(of: &value) { lh_random($0.baseAddress, $0.count) }
        // getrandom(2) has no way to fail for eight bytes into memory of ours, once interruptions
        // are repeated.
        precondition(answer == 0, "getrandom failed")
        return value
    }
}

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
