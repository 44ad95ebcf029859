extension YieldReport {
    /// All of it in one word of the progress board, which is written and read whole: state 8 bits,
    /// share in percent 8, queueing delay in tenths of a millisecond 16 (all ones = unknown),
    /// window in KiB 32, from the lowest bit on. The rate is on the board already. 0 = nothing to
    /// tell.
    package var packed: UInt64 {
        let delay = queueingDelay.map { UInt64(max(0, min($0 * 10_000, 65_534))) } ?? 65_535
        let percent = UInt64(max(0, min(share * 100, 100)))
        let kilobytes = UInt64(max(0, min(window / 1024, Int(UInt32.max))))
        return UInt64(state.rawValue) | percent << 8 | delay << 16 | kilobytes << 32
    }

    /// - Parameter packed: data: another process, of another version perhaps, wrote it.
    package init?(packed: UInt64) {
        guard let state = State(rawValue: UInt8(truncatingIfNeeded: packed)) else { return nil }
        let delay = packed >> 16 & 0xFFFF
        self.init(
            state: state, queueingDelay: delay == 0xFFFF ? nil : Double(delay) / 10_000,
            window: Int(packed >> 32) * 1024, rate: 0, share: Double(packed >> 8 & 0xFF) / 100)
    }
}
