import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// What is checked at the moment at which it happens: each launch as it is made and begins, each
/// signal.
extension SimHosts {
    /// Wall times are whole milliseconds; many steps make some of them.
    static let slack = 0.3

    func broken(_ text: String) -> SimComplaint { SimComplaint("hosts: \(text)", world) }

    /// In order, all that waits, nothing that was acknowledged, no file that could get lost.
    func checkHandover(
        _ order: LaunchOrder, _ reader: HandoverReader, _ events: [StoredEvent],
        _ waiting: Set<Int64>
    ) throws {
        let name = "launch \(order.id.rawValue)"
        let seqs = events.map(\.seq)
        guard let last = seqs.last else { throw broken("\(name) is handed nothing") }
        guard zip(seqs, seqs.dropFirst()).allSatisfy({ $0 < $1 }) else {
            throw broken("\(name) is handed \(seqs), which is no order")
        }
        if let event = events.first(where: { $0.session != order.eventSession }) {
            throw broken("\(name) for \(order.eventSession) is handed \(event)")
        }
        // What was acknowledged while it was gathered may be in it.
        let missing = ledger.waiting(of: order.eventSession).filter {
            $0 <= last && !seqs.contains($0)
        }
        if !missing.isEmpty { throw broken("\(name) is handed \(seqs) without \(missing)") }
        let old = seqs.filter {
            ledger.log[$0]?.isAcknowledged == true && !waiting.contains($0)
        }
        if !old.isEmpty { throw broken("\(name) is handed \(old) after they were acknowledged") }
        let all = waiting.filter { ledger.log[$0]?.isWaiting == true }
        if seqs.count < min(most, all.count) {
            throw broken("\(name) is handed \(seqs) of \(all.sorted())")
        }
        try checkRead(events)
        try checkQuestions(order, reader, events)
    }

    /// Who is told that a transfer needs an answer is asked for it.
    private func checkQuestions(
        _ order: LaunchOrder, _ reader: HandoverReader, _ events: [StoredEvent]
    ) throws {
        tally.questions += reader.needs.count
        for event in events where event.type == .transferNeedsInput {
            guard let id = event.transfer, ledger.log[event.seq]?.isWaiting == true,
                try world.clients.questions.waitsForInput(id, session: order.eventSession),
                !reader.needs.contains(where: { $0.transfer.id == id }),
                !isAskedAgain(id, after: event.seq)
            else { continue }
            throw broken("launch \(order.id.rawValue) is told of \(id) and not asked about it")
        }
    }

    /// The next launch has another question about it.
    private func isAskedAgain(_ id: TransferID, after seq: Int64) -> Bool {
        ledger.log.contains {
            $0.key > seq && $0.value.transfer == id && $0.value.isWaiting
                && $0.value.type == .transferNeedsInput
        }
    }

    /// No event before its file is durable under its name.
    func checkRead(_ events: [StoredEvent]) throws {
        for event in events {
            if ledger.log[event.seq] == nil { throw broken("event \(event.seq) came too early") }
            guard event.type == .transferCompleted, let id = event.transfer,
                let known = world.expected[id],
                let transfer = try world.clients.transfers.find(id, now: world.now.wall)
            else { continue }
            let inode = world.disk.durableNames[transfer.path]
            guard let file = inode.flatMap({ world.disk.files[$0] }) else {
                throw broken("event \(event.seq): \(transfer.path) has no durable name")
            }
            if file.isForeign { continue }
            if let content = world.wire.contents[known.url], !content.isVersion(file.durable) {
                throw broken("event \(event.seq): \(file.durable) is not what was asked for")
            }
        }
    }

    /// Recorded before it runs, and alone.
    func checkBegin(_ process: SimProcess) throws {
        let id = process.order.id
        // A resident process may go on with a launch that was over.
        let others = try processes.filter {
            try $0.key != id && $0.value.host == process.host && $0.value.begunAt != nil
                && (!$0.value.isResident || world.clients.hosts.launch($0.key)?.endedAt == nil)
        }
        if let other = others.keys.first {
            throw broken("\(id.rawValue) of \(process.host) runs beside \(other.rawValue)")
        }
        guard let row = try world.clients.hosts.launch(id), row.endedAt == nil,
            row.process == process.identity, row.host == process.host,
            process.isResident || row.handed == process.events.count
        else { throw broken("launch \(id.rawValue) begins and is not recorded") }
        try checkFairness(process.order)
        ledger.unsettled[id] = SimHostLedger.Truth(
            host: process.host, events: process.events.map(\.seq),
            wasAsked: process.isResident && ledger.watched[id]?.askedAt != nil,
            isResident: process.isResident)
    }

    /// SIGTERM not before the budget is used up, SIGKILL not before the grace is.
    func checkEnd(_ id: LaunchID, killing: Bool) {
        guard let entry = ledger.watched[id], let begun = entry.letGoAt else {
            return world.complain("hosts: launch \(id.rawValue) is ended, and nobody knows it")
        }
        if killing {
            let asked = entry.askedAt ?? now
            if now - asked < Limits.launchGraceSeconds - Self.slack {
                world.complain("hosts: launch \(id.rawValue) is killed \(now - asked) s after")
            }
            ledger.watched[id]?.killedAt = now
            return
        }
        let used = now - begun
        let mayExpire = tasks?.mayExpire(id) ?? false
        if used < entry.order.budget - Self.slack, !ledger.hasJumped(since: begun), !mayExpire {
            world.complain(
                "hosts: launch \(id.rawValue) is asked to end after \(used) s of its"
                    + " \(entry.order.budget)")
        }
        ledger.watched[id]?.askedAt = now
        if ledger.unsettled[id]?.isResident == true { ledger.unsettled[id]?.wasAsked = true }
    }

    // MARK: - The clock

    /// Notes when somebody has set it.
    func noteClock() {
        let wall = world.now.wall
        if let clock = ledger.clock {
            let drift = (wall - clock.wall) - (now - clock.instant)
            if abs(drift) > 0.05 {
                let isSoon = ledger.jumped.map { now - $0.instant < 10 } ?? false
                ledger.unseenSetBack = drift < 0 && isSoon ? -drift : nil
                ledger.jumped = (now, wall)
                ledger.isJumpNews = true
            }
        }
        ledger.clock = (now, wall)
    }
}

extension LaunchOrder {
    /// For launches that hand over events.
    var eventSession: String { session ?? "" }
}
