import LonghaulCore
import LonghaulEngine
import LonghaulSimulatedWire
import LonghaulStore

/// What happens to the world: trouble for a while, and in the end peace.
extension SimWorld {
    /// One life: servers and transfers, trouble, and then everything must end.
    func live(steps: Int = 140) throws {
        trouble = SimTrouble(&random)
        say("\(trouble)")
        disk.trouble = trouble
        wire.trouble = trouble
        try drawLimits()
        for _ in 0..<Int.random(in: 1...6, using: &random) { try enqueue() }
        for _ in 0..<steps { try stepInTrouble() }
        try makePeace()
        try checkAtRest()
        finishTally()
    }

    /// The same with servers that are odd in more ways, and with readers of what they send.
    func liveWithOddServers() throws {
        hasOddServers = true
        try live()
    }

    func drawLimits() throws {
        policy.limits.running = [2, 3, 5, 16].randomElement(using: &random) ?? 16
        policy.limits.perOrigin = [1, 2, 4, 6].randomElement(using: &random) ?? 6
        policy.limits.reserved = Int.random(in: 0...1, using: &random)
        setConditions()
        try enginesLimitsChange()
    }

    func finishTally() {
        tally.lives = 1
        tally.stalls = wire.stalls
        tally.redirects = wire.redirects
        tally.forbidden = wire.forbidden
        tally.diskFaults = disk.faults
        tally.transfers = expected.count
        tally.resources = wire.servers.creations
        tally.uploaded = wire.servers.completions
    }

    /// The first engine knew other limits.
    private func enginesLimitsChange() throws {
        wire.forget()
        disk.kill()
        try startEngine()
    }

    func stepInTrouble() throws {
        let isBusy = hasNews || !wire.order.isEmpty || !disk.orders.isEmpty
        var seconds = Double.random(in: 0...0.8, using: &random)
        if random.happens(isBusy ? 0.15 : 0.5) { seconds *= 8 }
        if random.happens(isBusy ? 0.03 : 0.3) { seconds += secondsToNext() }
        pass(seconds)
        wire.advance(seconds)
        for _ in 0..<Int.random(in: 0...5, using: &random) { disk.step() }
        changeWorld()
        try clientsAct()
        if random.happens(trouble.crash) {
            fuse = fuse ?? Int.random(in: 0...12, using: &random)
        }
        // The engine's thread may be late.
        if isTurnDue, random.happens(0.8) { try turn() }
        if random.happens(trouble.leave), !isDead { try leave() }
        if isDead || (fuse ?? 1) < 0 { try crash() }
        if let complaint { throw complaint }
    }

    // MARK: - Trouble

    private func changeWorld() {
        if !uploads.isEmpty { changeUploads() }
        if random.happens(trouble.change) { changeContent() }
        if random.happens(trouble.gone), let url = anyURL() {
            let isGone = wire.contents[url]?.refusal != nil
            let refusal = isGone ? nil : [401, 403, 404, 410].randomElement(using: &random)
            wire.contents[url]?.refusal = refusal
            say("\(url) answers \(refusal.map(String.init) ?? "again")")
        }
        if random.happens(trouble.move), let url = anyURL() {
            let isAway = wire.contents[url]?.movedTo != nil
            let target = isAway ? nil : sibling(of: url)
            wire.contents[url]?.movedTo = target
            say("\(url) \(isAway ? "is back" : "has moved")")
        }
        if random.happens(wire.isDown ? 0.3 : trouble.flap) {
            wire.isDown.toggle()
            say("the network is \(wire.isDown ? "down" : "up")")
        }
        changeDisk()
        if random.happens(trouble.conditions) {
            setConditions()
            tellConditions()
        }
        if random.happens(trouble.clock) { changeClock() }
    }

    private func changeDisk() {
        if random.happens(disk.room == nil ? trouble.full : 0.15) {
            disk.room = disk.room == nil ? Int64.random(in: 0...2_000_000, using: &random) : nil
            say("room on the disk: \(disk.room.map(String.init) ?? "plenty")")
        }
        if random.happens(disk.isReadOnly ? 0.2 : trouble.readOnly) {
            disk.isReadOnly.toggle()
            say("the disk is read-only: \(disk.isReadOnly)")
        }
        if random.happens(trouble.foreign),
            let known = expected.keys.sorted().randomElement(using: &random),
            let path = expected[known]?.destination
        {
            disk.putForeign(path)
        }
    }

    private func changeContent() {
        guard let url = anyURL() else { return }
        let size = Int64.random(in: 0...80_000, using: &random)
        let grows = random.happens(0.3)
        for name in [base(of: url), sibling(of: base(of: url))] {
            wire.contents[name]?.change(label: nextLabel, size: size, grows: grows)
        }
        nextLabel += 1
        say("\(url) changes to \(wire.contents[url]?.current.count ?? 0) bytes")
    }

    func setConditions() {
        func reading<Value>(_ value: Value?) -> Reading<Value> {
            Reading(value, source: "test", since: now.wall)
        }
        conditions.power = reading(
            [.external, .external, .battery, nil].randomElement(using: &random)!)
        conditions.battery = reading(
            random.happens(0.2) ? nil : Int.random(in: 5...100, using: &random))
        conditions.network = reading(
            [.unmetered, .unmetered, .unmetered, .metered, .offline, nil]
                .randomElement(using: &random)!)
        if let state = conditions.network.value {
            let name = state == .offline ? nil : ["home", "work"].randomElement(using: &random)
            conditions.network.identity = NetworkIdentity(connection: name)
        }
        conditions.isIdle = reading([true, false, nil].randomElement(using: &random)!)
        conditions.savesPower = reading(
            [false, false, true, nil].randomElement(using: &random)!)
        hosts?.tasks?.names.draw()
        say("conditions: \(conditions)")
    }

    private func changeClock() {
        tally.clockJumps += 1
        switch Int.random(in: 0..<5, using: &random) {
        case 0: jump(Double.random(in: -10_800...10_800, using: &random))
        case 1: jump(Double.random(in: -90...90, using: &random))
        case 2: jump(Double.random(in: -2...2, using: &random) * 86_400)
        // Not so far that events are forgotten, which the checkers of hosts go by.
        case 3 where hosts == nil: jump(Double.random(in: -40...40, using: &random) * 86_400)
        default:
            // Both clocks go on while the machine sleeps; what waits on a timer may not have.
            let seconds = Double.random(in: 10...30_000, using: &random)
            say("the machine slept for \(seconds) s")
            pass(seconds)
            hosts?.tasks?.machine.resumes += 1
            tellMachine()
            if Bool.random(using: &random) { nextTurn = nextTurn + seconds }
        }
    }

    private func jump(_ seconds: Double) {
        say("the clock is set by \(seconds) s")
        now.wall = now.wall + seconds
        wire.now = now
        for id in expected.keys { expected[id]?.notBefore = nil }
        // By the new clock they have stayed for so long that they are given up.
        if seconds > Limits.leftPartsKeptSeconds { disk.undeleted.merge(disk.refused) { $1 } }
    }

    func setClockRight() {
        let right = Self.start + Double(now.monotonic.nanoseconds) / 1e9
        jump(right - now.wall)
    }

    // MARK: - Servers

    func anyURL() -> String? { wire.contents.keys.sorted().randomElement(using: &random) }

    private func base(of url: String) -> String {
        url.hasSuffix("-b") ? String(url.dropLast(2)) : url
    }

    /// The same file by another name.
    func sibling(of url: String) -> String {
        url.hasSuffix("-b") ? String(url.dropLast(2)) : url + "-b"
    }

    /// A new file on a server, under two names.
    func makeContent() -> String {
        let url = "http://s\(nextURL % 2).test/f\(nextURL)"
        nextURL += 1
        // Files in parts, where servers are odd about parts.
        let sizes: [Int64] =
            hasOddServers
            ? [30_000, 40_000_000, 60_000_000] : [30_000, 30_000, 2_000_000, 40_000_000]
        let most = sizes.randomElement(using: &random)!
        let size = Int64.random(in: 0...most, using: &random)
        let proof = SimContent.Proof.allCases.randomElement(using: &random) ?? .strongTag
        for name in [url, sibling(of: url)] {
            var content = SimContent(proof: proof, label: nextLabel, size: size)
            content.ignoresRanges = random.happens(0.15)
            content.ignoresRangeEnds = random.happens(0.15)
            content.isChunked = random.happens(0.1)
            content.rate = [20_000, 400_000, 3_000_000, 20_000_000].randomElement(using: &random)!
            if hasOddServers { content.oddities = SimOddities(size, &random) }
            wire.contents[name] = content
        }
        nextLabel += 1
        return url
    }
}
