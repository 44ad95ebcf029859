internal import CLonghaul

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
