extension OriginMemory {
    /// How much a new measurement counts against what is remembered.
    private static let newWeight = 0.3

    /// A transfer was completed. `rate` only where it ran long enough to tell.
    package mutating func worked(at rate: Double?, http2: Bool, now: Timestamp) {
        afterSuccess(now: now)
        speaksHTTP2 = http2
        guard let rate else { return }
        let old = bytesPerSecond ?? rate
        bytesPerSecond = old + (rate - old) * OriginMemory.newWeight
    }
}
