internal import LonghaulModel

/// The bounds and defaults of the store.
extension Limits {
    // Waiting for other processes.
    /// How long a call waits for another process's transaction.
    static let busySeconds: Double = 10

    // Copies and repair.
    static let copiesKept = 2
    /// Numbers that a restored store skips. Those given after the copy must not be given again, and
    /// only the damaged file knows how many there are.
    static let restoredNumbersSkipped: Int64 = 10_000_000
}
