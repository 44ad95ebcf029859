import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// Faults stop. What can go on by itself must end by itself; the rest, once somebody has asked for
/// it.
extension SimWorld {
    /// Longer than any back-off, cool-down or closed window.
    static let patienceSeconds = 60.0 * 3600

    func makePeace() throws {
        say("PEACE")
        trouble = .none
        disk.trouble = .none
        wire.trouble = .none
        wire.isDown = false
        disk.room = nil
        disk.isReadOnly = false
        fuse = nil
        setClockRight()
        for url in wire.contents.keys {
            wire.contents[url]?.refusal = nil
            wire.contents[url]?.movedTo = nil
            wire.contents[url]?.rate = 10_000_000
        }
        conditions.power.value = .external
        conditions.network.value = .unmetered
        conditions.isIdle.value = true
        tellConditions()
        try settle { !$0.state.hasEnded && $0.state != .paused }
        for path in disk.names.keys.sorted() where disk.isForeign(path) {
            disk.names[path] = nil
            disk.durableNames[path] = nil
        }
        for id in expected.keys.sorted() {
            var later = TransferChange()
            later.deadline = .after(seconds: Deadline.defaultSeconds)
            if shown[id]?.state != .completed { try clients.change(id, later, now: now.wall) }
            try change(id, .retry)
            try change(id, .resume)
        }
        inputs.append(.wake)
        try settle { $0.state != .completed }
    }

    /// Until no transfer is open any more, without help.
    private func settle(isOpen: (Transfer) -> Bool) throws {
        let end = now.monotonic + Self.patienceSeconds
        while true {
            look()
            let open = shown.values.filter(isOpen).map(\.id).sorted()
            if open.isEmpty, disk.orders.isEmpty, !hasNews, wire.order.isEmpty { return }
            guard now.monotonic < end else {
                let states = open.map { id in
                    let held = shown[id].map { missing($0, isRunning: false) } ?? []
                    return "\(id) \(shown[id]?.state.rawValue ?? ""), lacks \(held)"
                }
                throw SimComplaint("still open: \(states)", self)
            }
            for _ in 0..<20 {
                let seconds = max(0.05, min(secondsToNext(), 60))
                pass(seconds)
                wire.advance(min(seconds, 0.5))
                for _ in 0..<8 { disk.step() }
                if isTurnDue { try turn() }
                if isDead { throw SimComplaint("the engine died in peace", self) }
            }
        }
    }

    func checkAtRest() throws {
        try turn()
        // What a crash leaves of a transfer that was then removed is for `doctor` to find.
        let parts = expected.keys.map { part(of: $0) }.filter { disk.names[$0] != nil }
        guard parts.isEmpty else { throw SimComplaint("left behind: \(parts.sorted())", self) }
        for (id, known) in expected where !known.isVerified {
            throw SimComplaint("\(id) was never found completed", self)
        }
    }
}
