import Foundation

/// SplitMix64: the same seed gives the same numbers on every machine. Print `seed` if a test fails,
/// and set `LONGHAUL_SEED` to it to repeat the run.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    package let seed: UInt64
    private var state: UInt64

    package init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// The seed of `LONGHAUL_SEED`, or else a fresh one.
    package static func fromEnvironment() -> SeededRandom {
        let given = ProcessInfo.processInfo.environment["LONGHAUL_SEED"].flatMap { UInt64($0) }
        return SeededRandom(seed: given ?? .random(in: 0...UInt64(UInt32.max)))
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
