internal import Glibc
internal import CLonghaul
package import LonghaulModel

/// The two clocks of the machine. Only the engine's turn and the commands read them; all other code
/// gets the time as a parameter.
package enum SystemClock {
    /// The monotonic half continues while the machine sleeps (CLOCK_BOOTTIME): a stall or a time
    /// limit ends after a suspend at the same moment as without it.
    package static func now() -> Moment {
        Moment(
            wall: Timestamp(milliseconds: lh_clock_realtime_milliseconds()),
            monotonic: Instant(nanoseconds: lh_clock_boottime()))
    }
}

/// The machine's time zone: `TZ`, else /etc/localtime.
package enum LocalClock {
    /// Offset of local time from UTC at a moment.
    package static func secondsFromUTC(_ time: Timestamp) -> Int {
        // localtime_r(3) need not notice a changed zone; tzset(3) does.
        tzset()
        var seconds = time_t(time.milliseconds.quotientAndRemainder(dividingBy: 1000).quotient)
        var parts = tm()
        return localtime_r(&seconds, &parts) == nil ? 0 : parts.tm_gmtoff
    }
}

/// Waits a bounded time, for polling where no notification exists.
package enum ThreadSleep {
    package static func seconds(_ seconds: Double) {
        guard seconds > 0 else { return }
        var time = timespec()
        time.tv_sec = Int(seconds)
        time.tv_nsec = Int((seconds - Double(time.tv_sec)) * 1e9)
        var rest = timespec()
        while nanosleep(&time, &rest) < 0, errno == EINTR { time = rest }
    }
}

/// The kernel's random numbers, for seeds and jitter. Code that makes decisions takes a generator
/// as a parameter.
package struct SystemRandom: RandomNumberGenerator, Sendable {
    package init() {}

    package mutating func next() -> UInt64 {
        var value: UInt64 = 0
        let answer = withUnsafeMutableBytes(of: &value) { lh_random($0.baseAddress, $0.count) }
        // getrandom(2) cannot fail for eight bytes into valid memory, once interruptions are
        // repeated.
        precondition(answer == 0, "getrandom failed")
        return value
    }
}

/// Distinguishes boots of the kernel: the page cache lives as long as the boot.
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
        // A sign is not a digit, but `UInt64(_:radix:)` accepts one.
        guard digits.count == 32, text.utf8.count <= 37, !digits.contains(UInt8(ascii: "+")),
            let high = UInt64(String(decoding: digits[..<16], as: UTF8.self), radix: 16),
            let low = UInt64(String(decoding: digits[16...], as: UTF8.self), radix: 16)
        else { return nil }
        self.init(high: high, low: low)
    }

    /// 32 hexadecimal digits: the stored form, which ``init(_:)`` reads.
    package var text: String {
        [high, low].map { half in
            let digits = String(half, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// The running kernel's; `nil` where /proc is not mounted. No process outlives its boot, so the
    /// file is read once.
    package static let current: BootID? =
        (try? smallFile("/proc/sys/kernel/random/boot_id")).flatMap { BootID($0) }
}
