/// How many transfers are made ready ahead.
extension PrefetchRate {
    /// The requests of prefetched transfers go out within about this time.
    package static let horizonSeconds: Double = 0.05
    package static let aheadMax = 512
    /// Ends at the same reading of the clock count as this far apart.
    static let leastSeconds: Double = 0.002
    static let aheadPerEnd = 4
}
