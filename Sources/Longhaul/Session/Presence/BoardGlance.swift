internal import LonghaulCore
internal import LonghaulPlatform

/// The progress board, read once for all who ask within a moment.
final class BoardGlance {
    private let directory: String
    private var taken: Instant?
    private var live: [FetchID: BoardReader.Live] = [:]

    private static let validSeconds = 0.05

    init(_ directory: String) {
        self.directory = directory
    }

    /// How far each running fetch is; empty when no engine runs.
    func look() -> [FetchID: BoardReader.Live] {
        let now = SystemClock.now().monotonic
        if let taken, now - taken < BoardGlance.validSeconds { return live }
        let hasEngine = (try? EngineLock.isHeld(in: directory)) ?? false
        live = hasEngine ? BoardReader.live(in: directory) : [:]
        taken = now
        return live
    }
}
