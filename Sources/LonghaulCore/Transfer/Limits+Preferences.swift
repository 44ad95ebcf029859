extension Limits {
    /// The longest spread: less than the days before the present one that are searched for windows.
    static let spreadMaximumSeconds: Double = 7 * 86_400
    /// Places that transfers of one machine have in a spread.
    static let spreadPlaces: Int64 = 64
}

/// How long preferences hold a transfer.
extension PreferenceExpiry {
    /// Seconds from when it may begin.
    package static let defaultSeconds: Double = 86_400
    /// Factor on the time that the bytes should take.
    static let margin = 2.0
    static let fixedSeconds: Double = 300
    /// Seconds for an unknown number of bytes, at most half of the whole time.
    static let unknownSizeSeconds: Double = 3600
    /// Before the origin's throughput was measured.
    static let assumedBytesPerSecond: Double = 262_144
    /// Looks are at least so far apart.
    static let checkSeconds: Double = 60
    /// Preferences that end so soon after waived ones are waived too: the work is done together.
    package static let batchSeconds: Double = 30 * 60
}
