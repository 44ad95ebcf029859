/// What is wanted of a transfer. Clients write it; the engine only reads it. Raw values are stored:
/// never renumber.
package enum Want: Int, Sendable, CaseIterable {
    case run = 0
    case pause = 1
    /// End it and free its part file.
    case cancel = 2
    /// End it, and keep its part file for a later `retry`.
    case cancelKeepingBytes = 3
}

/// What the engine recorded of a transfer. Only the lease holder writes it. Raw values are stored:
/// never renumber.
package enum Phase: Int, Sendable, CaseIterable {
    /// Not being moved: never started, or between attempts. Its fetch row, if any, holds what is
    /// kept.
    case queued = 0
    /// Claimed by the engine; a fetch row exists. After a crash: back to `queued`, bytes kept, or
    /// completed where ``reconcile`` finds the file under its name.
    case running = 1
    /// The file is durable under its name; the terminal event was committed with this.
    case completed = 3
    /// Gave up; bytes are kept for `resume` or `retry`.
    case failed = 4
    case cancelled = 5

    package var hasEnded: Bool {
        switch self {
        case .completed, .failed, .cancelled: true
        case .queued, .running: false
        }
    }
}
