internal import LonghaulCore
internal import LonghaulEngine
internal import LonghaulStore
internal import LonghaulPlatform

/// Longest wait of a listing for the machine's conditions.
private let viewConditionsSeconds: Double = 0.5

/// Completes the store's facts with facts from elsewhere: the progress board, the machine's
/// conditions, and whether any engine is there.
struct LiveView {
    private let board: [FetchID: BoardReader.Live]
    private let hasEngine: Bool
    private let stoppedEngine: Int32?
    private let store: Store
    private let now: Timestamp
    private let outlook: PublishedLimits
    private let machine: MachineNow
    let running: RunningView

    init(_ queue: TransferQueue) throws(LonghaulError) {
        hasEngine = queue.isEngineRunning
        stoppedEngine = try hasEngine ? queue.stoppedEngine() : nil
        // The board of a killed engine remains, and bytes written survive until the machine stops.
        board = BoardReader.live(in: queue.directory)
        store = queue.store
        now = queue.now
        // Limits of the running engine; without an engine, the next one's.
        let view = try hasEngine ? store.settings.engineView() : nil
        outlook = view?.outlook ?? PublishedLimits()
        machine = MachineNow(
            queue, known: view?.conditions, networkSettlesAt: outlook.networkSettlesAt)
        running = hasEngine ? try RunningView(store, outlook.limits, now: now) : .nothing
    }

    func complete(_ transfer: Transfer) -> Transfer {
        var transfer = transfer
        transfer.state = state(of: transfer)
        transfer = LiveView.withLiveNumbers(transfer, from: board)
        if transfer.state == .waiting { transfer.waitingFor += reasons(transfer) }
        if transfer.state == .running {
            // The error of an earlier attempt says nothing about the present one.
            transfer.error = nil
            if let stoppedEngine {
                transfer.waitingFor = [.stoppedEngine(stoppedEngine)]
                transfer.bytesPerSecond = nil
            }
        }
        return transfer
    }

    private func state(of transfer: Transfer) -> TransferState {
        let state = running.state(of: transfer)
        // The transfer's engine died: the transfer waits for the next one, which finds its bytes.
        return state == .running && !hasEngine ? .waiting : state
    }

    /// The wait of a transfer or job for the end of transfers.
    func wait(
        for others: [(id: TransferID, transfer: Transfer?)], since: Timestamp?
    ) -> WaitReason {
        let states = others.map { other in
            "\(other.id) is \(other.transfer.map { state(of: $0).rawValue } ?? "removed")"
        }
        return WaitReason(
            .transfers, required: others.map(\.id.description).joined(separator: ", "),
            current: states.joined(separator: ", "), since: since)
    }

    /// The stored states of the states to be shown: without an engine, transfers stored as running
    /// wait; with one, some of them do.
    func asStored(_ states: Set<TransferState>) -> Set<TransferState> {
        if hasEngine {
            return running.surplus > 0 && states.contains(.waiting)
                ? states.union([.running]) : states
        }
        return states.contains(.waiting)
            ? states.union([.running]) : states.subtracting([.running])
    }

    static func withLiveNumbers(
        _ transfer: Transfer, from board: [FetchID: BoardReader.Live]
    ) -> Transfer {
        var transfer = transfer
        if let held = transfer.held, let live = board[held.fetch] {
            // Also of a cancelled one, until the engine has recorded the bytes received.
            if !held.isAnothers {
                transfer.bytesFetched = max(transfer.bytesFetched, live.received)
            }
            if transfer.state.hasEnded { return transfer }
            var have = held.durable
            for (generation, range) in live.written where generation == held.generation {
                have.insert(range)
            }
            transfer.bytesDone = have.count
            if transfer.kind == .upload, transfer.state == .running {
                for (generation, range) in live.sent where generation == held.generation {
                    have.insert(range)
                }
                transfer.bytesSent = min(have.count, transfer.bytesTotal ?? .max)
                transfer.bytesChecked = live.checked > 0 ? live.checked : nil
            }
            if transfer.state == .running {
                transfer.bytesPerSecond = live.bytesPerSecond
                transfer.requests = live.requests
                transfer.yielding = live.yielding
            }
        }
        return transfer
    }

    /// Reasons that hold the transfer besides its back-off and its earliest moment, which the store
    /// knows.
    private func reasons(_ transfer: Transfer) -> [WaitReason] {
        var gate = transfer.eligibility.gate(
            in: machine.snapshot(for: transfer.eligibility), now: now)
        for index in gate.reasons.indices where gate.reasons[index].isPreference {
            gate.reasons[index].nextCheck = transfer.waiverCheck
        }
        var reasons = gate.reasons
        if transfer.eligibility.waitsForTransfers,
            let others = try? store.transfers.awaited(by: transfer.id, now: now)
        {
            reasons.removeAll { $0.reason == .transfers }
            // None is left where the engine is about to see that they have ended.
            if !others.isEmpty {
                reasons.insert(wait(for: others, since: transfer.createdAt), at: 0)
            }
        }
        if !hasEngine {
            let need =
                transfer.isUnresumable ? "; nothing lets it resume, it has to end in one go" : ""
            reasons.append(.noEngine(need))
            if transfer.waitingFor.isEmpty, let pause = coolDown(transfer) { reasons.append(pause) }
        } else if let stoppedEngine {
            reasons.append(.stoppedEngine(stoppedEngine))
        } else if reasons.isEmpty, transfer.waitingFor.isEmpty {
            reasons.append(turn(transfer))
        }
        return reasons
    }

    /// The cool-down of the transfer's server, which the next engine keeps to as well.
    private func coolDown(_ transfer: Transfer) -> WaitReason? {
        memory(transfer).flatMap {
            outlook.coolDown(of: $0, since: transfer.readySince, now: now)
        }
    }

    /// Memory of the one server that decides whether the transfer may begin. One that is not in
    /// the store yet has failed at nothing.
    private func memory(_ transfer: Transfer) -> OriginMemory? {
        guard !transfer.eligibility.hasMirrors, let url = try? URLParts(transfer.requestURL)
        else {
            return nil
        }
        return (try? store.transfers.origin(url.origin)) ?? OriginMemory(origin: url.origin)
    }

    /// Nothing holds it but its turn.
    private func turn(_ transfer: Transfer) -> WaitReason {
        let memory = memory(transfer)
        let origin = (try? URLParts(transfer.requestURL))?.origin
        var candidate = Candidate(
            id: transfer.id, session: transfer.session, origin: OriginID(rawValue: origin ?? ""),
            priority: transfer.priority, eligibility: transfer.eligibility,
            waitingSince: transfer.readySince ?? transfer.createdAt, deadline: transfer.deadline)
        candidate.isUnresumable = transfer.isUnresumable
        let left = Candidate.bytesLeft(
            of: transfer.bytesTotal ?? transfer.expectedBytes, held: transfer.bytesDone,
            isUnresumable: transfer.isUnresumable)
        candidate.expectedSeconds = Candidate.seconds(bytes: left, rate: memory?.bytesPerSecond)
        return outlook.turn(
            of: candidate, memory: memory,
            running: RunningNumbers(
                total: running.counts.total, discretionary: running.counts.discretionary,
                ofOrigin: origin.flatMap { running.counts.ofOrigin[$0] } ?? 0),
            now: now)
    }
}

/// The machine's conditions, looked at when the first transfer is met that depends on them, and
/// once: most lists hold none, and asking the bus takes longer than all the rest.
final class MachineNow {
    private let queue: TransferQueue
    /// The engine's conditions. This process completes conditions that the engine has not read yet,
    /// since it just started or did not need them.
    private var known: Conditions
    private var hasLooked = false
    private let networkSettlesAt: Timestamp?
    private let time = LocalTime.ofProcess

    init(_ queue: TransferQueue, known: Conditions?, networkSettlesAt: Timestamp?) {
        self.queue = queue
        self.networkSettlesAt = networkSettlesAt
        self.known = known ?? Conditions()
    }

    func snapshot(for eligibility: EligibilityKey) -> ConditionSnapshot {
        if !hasLooked, !known.hasSeen(eligibility.interest) {
            hasLooked = true
            // Conditions that cannot be found out are unknown.
            let own = (try? queue.conditions(within: viewConditionsSeconds)) ?? Conditions()
            known = known.completed(by: own)
        }
        return ConditionSnapshot(
            conditions: known, time: time, networkSettlesAt: networkSettlesAt)
    }
}
