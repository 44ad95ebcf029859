internal import LonghaulCore
internal import LonghaulStore

/// The transfers that an engine moves. Transfers that it has only prepared wait for a connection,
/// as do transfers not yet begun.
struct RunningView {
    var counts = RunningCounts()
    /// Number of waiting transfers that the store calls running.
    var surplus = 0
    /// Prepared fetches that have a connection.
    private var begun: Set<FetchID> = []

    static let nothing = RunningView()

    private init() {}

    /// Reads the view by the limits of the engine that runs.
    init(_ store: Store, now: Timestamp) throws(LonghaulError) {
        let limits = try store.settings.engineView()?.outlook.limits ?? SchedulerLimits()
        try self.init(store, limits, now: now)
    }

    init(_ store: Store, _ limits: SchedulerLimits, now: Timestamp) throws(LonghaulError) {
        counts = try store.transfers.runningCounts()
        if counts.prefetched.isEmpty { return }
        var connections: [String: Int] = [:]
        for name in Set(counts.prefetched.map(\.origin)) {
            let origin = OriginState(try store.transfers.origin(name), now: now)
            connections[name] = limits.connections(to: origin)
        }
        let rest = counts.removeSurplus(of: limits) { connections[$0] ?? limits.perOrigin }
        begun = Set(counts.prefetched.map(\.id))
        surplus = rest.reduce(0) { $0 + $1.transfers }
    }

    /// The state that is shown.
    func state(of transfer: Transfer) -> TransferState {
        guard transfer.state == .running, let held = transfer.held, held.isPrefetched,
            !begun.contains(held.fetch)
        else { return transfer.state }
        return .waiting
    }
}
