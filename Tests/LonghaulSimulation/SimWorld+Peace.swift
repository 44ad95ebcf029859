import LonghaulCore
import LonghaulEngine
import LonghaulSimulatedWire
import LonghaulStore

/// Faults stop. What can go on by itself must end by itself; the rest, once somebody has asked for
/// it.
extension SimWorld {
    /// Longer than any back-off, cool-down or closed window.
    static let patienceSeconds = 60.0 * 3600

    func makePeace() throws {
        try endTrouble()
        try completeAll()
    }

    func endTrouble() throws {
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
        wire.servers.calm()
        conditions.power.value = .external
        conditions.network.value = .unmetered
        conditions.isIdle.value = true
        conditions.savesPower.value = false
        tellConditions()
        try mendEarliest()
    }

    func completeAll() throws {
        // Some wait for one that is paused.
        try settle { !$0.state.hasEnded && $0.state != .paused && !isBeforeItsTime($0.id) }
        // What could not be deleted is for the next engine.
        try leave()
        for path in disk.names.keys.sorted() where disk.isForeign(path) {
            disk.names[path] = nil
            disk.durableNames[path] = nil
        }
        for (path, inode) in disk.undeleted where disk.names[path] == inode {
            disk.names[path] = nil
            disk.durableNames[path] = nil
        }
        // What was held of another version is found out first where a digest is asked for.
        for round in 1...2 {
            for id in expected.keys.sorted() {
                try mend(id)
                try change(id, .retry)
                try change(id, .resume)
            }
            inputs.append(.wake)
            try settle {
                round == 1 ? !$0.state.hasEnded : $0.state != .completed && !cannotComplete($0)
            }
        }
    }

    /// Times that a wrong clock gave.
    private func mendEarliest() throws {
        for id in expected.keys.sorted() {
            guard let transfer = try clients.transfers.find(id, now: now.wall),
                let earliest = transfer.earliestBegin, earliest > now.wall + 3600,
                transfer.state != .completed
            else { continue }
            var sooner = RequestChange()
            sooner.earliestBegin = .some(nil)
            try clients.wants.change(id, sooner, now: now.wall)
        }
    }

    /// What nothing but a change can help.
    private func mend(_ id: TransferID) throws {
        guard shown[id]?.state != .completed, let known = expected[id] else { return }
        var change = RequestChange()
        change.deadline = .after(seconds: Deadline.defaultSeconds)
        if !known.checksums.isEmpty, let content = wire.contents[known.url] {
            let right = SimDisk.checksum(of: content.current)
            expected[id]?.checksums.append(right)
            change.editOptions = { $0.checksum = right }
        }
        mendDependencies(id, &change)
        try clients.wants.change(id, change, now: now.wall)
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
        let parts = disk.names.keys.filter { path in
            path.hasSuffix(".part") && disk.undeleted[path] == nil
                && expected.values.contains { path.hasPrefix($0.destination + ".") }
        }
        guard parts.isEmpty else { throw SimComplaint("left behind: \(parts.sorted())", self) }
        for (id, known) in expected where !known.isVerified {
            throw SimComplaint("\(id) was never found completed", self)
        }
    }
}
