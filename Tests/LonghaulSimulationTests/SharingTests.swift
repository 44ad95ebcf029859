import LonghaulCore
import LonghaulEngine
import LonghaulStore
import Testing

@testable import LonghaulSimulation

/// One fetch for equal requests, between a simulated network and disk.
@Suite struct SharingTests {
    static let url = SimWorld.sharedURL
    static let size: Int64 = 2_500_000

    /// A world without chance in it, but for the order of things.
    func world(seed: UInt64 = 7) throws -> SimWorld {
        let world = try SimWorld(seed: seed)
        var content = SimContent(proof: .strongTag, label: 1, size: Self.size)
        content.rate = 1_000_000
        world.wire.contents[Self.url] = content
        world.nextLabel = 2
        return world
    }

    @discardableResult
    func add(
        _ world: SimWorld, _ destination: String,
        _ edit: (inout TransferRequest) -> Void = { _ in }
    ) throws -> TransferID {
        try world.share(destination, edit)
    }

    func change(_ world: SimWorld, _ ids: [TransferID], _ change: WantedChange) throws {
        _ = try world.clients.wants.change(.ids(ids), to: change)
        world.inputs.append(.wake)
    }

    private func received(_ world: SimWorld) -> Int64 {
        world.disk.cells.values.filter { $0.generation == nil }.map(\.received).reduce(0, +)
    }

    func half(_ world: SimWorld) throws {
        try #require(try world.run(for: 60) { received(world) > Self.size / 2 })
    }

    func isCompleted(_ world: SimWorld, _ ids: [TransferID]) throws -> Bool {
        try ids.allSatisfy { try world.transfer($0).state == .completed }
    }

    func isBare(_ world: SimWorld) -> Bool {
        !world.disk.names.keys.contains { $0.hasSuffix(".part") }
    }

    /// Each its own file with the right bytes, one terminal event, nothing left behind; together
    /// they received the file once.
    func check(
        _ world: SimWorld, _ ids: [TransferID], received: Int64 = size
    ) throws {
        var inodes: Set<UInt64> = []
        for id in ids {
            let inode = try #require(world.disk.names[try world.transfer(id).path])
            #expect(inodes.insert(inode).inserted, "\(id) shares an inode")
            let content = try #require(world.wire.contents[Self.url])
            #expect(content.isVersion(try #require(world.disk.files[inode]).durable))
            let ends = try world.store.events.list(of: id).filter { $0.type != .transferRestarted }
            #expect(ends.map(\.type) == [.transferCompleted])
        }
        #expect(isBare(world))
        #expect(world.tally.bytes == received)
    }

    @Test func oneFetchServesWhoWaitsAndWhoComes() throws {
        let world = try world()
        defer { world.cleanUp() }
        var ids = [try add(world, "/d/1"), try add(world, "/e/2")]
        try half(world)
        #expect(try world.transfer(ids[1]).sharedWith == [ids[0]])
        #expect(try world.transfer(ids[1]).state == .running)
        // In the middle of it, while it takes the only connection.
        for number in 3...6 { ids.append(try add(world, "/d/\(number)")) }
        #expect(try world.run(for: 1) { try world.transfer(ids[5]).state == .running })
        #expect(try world.transfer(ids[0]).sharedWith == Array(ids.dropFirst()))
        #expect(try world.run(for: 60) { try isCompleted(world, ids) })
        #expect(world.wire.answered == 1)
        try check(world, ids)
        #expect(try world.transfer(ids[3]).sharedWith.count == 5)
        // Counted once, with the one that led.
        let counted = try ids.map { try world.transfer($0).bytesFetched }
        #expect(counted == [Self.size, 0, 0, 0, 0, 0])
    }

    /// One is found waiting, the other is taken up by the plan.
    @Test func twoComeInOneTurn() throws {
        let world = try world()
        defer { world.cleanUp() }
        var ids = [try add(world, "/d/1"), try add(world, "/e/2")]
        try half(world)
        try change(world, [ids[1]], .cancel(keepBytes: false))
        #expect(try world.run(for: 1) { try world.transfer(ids[1]).state == .cancelled })
        try change(world, [ids[1]], .retry)
        ids.append(try add(world, "/d/3"))
        #expect(try world.run(for: 60) { try isCompleted(world, ids) })
        #expect(world.wire.answered == 1)
        #expect(isBare(world))
    }

    @Test func separateIsNeverShared() throws {
        let world = try world()
        defer { world.cleanUp() }
        let ids = [
            try add(world, "/d/1"), try add(world, "/d/2") { $0.options.onDuplicate = .separate },
            try add(world, "/d/3") { $0.options.headers["Accept"] = "text/html" },
        ]
        #expect(try world.run(for: 60) { try isCompleted(world, ids) })
        #expect(world.wire.answered == 3)
        try check(world, ids, received: 3 * Self.size)
    }

    /// Whoever leads may go; the bytes stay.
    @Test(arguments: ["/d", "/e"], [WantedChange.cancel(keepBytes: false), .pause])
    func leadershipPasses(_ directory: String, _ wanted: WantedChange) throws {
        let world = try world()
        defer { world.cleanUp() }
        let ids = [
            try add(world, "/d/1"), try add(world, directory + "/2"),
            try add(world, directory + "/3"),
        ]
        try half(world)
        try change(world, [ids[0]], wanted)
        #expect(try world.run(for: 60) { try isCompleted(world, [ids[1], ids[2]]) })
        #expect(world.wire.answered == 1)
        if wanted == .pause {
            // It was given its bytes all the same.
            #expect(try world.transfer(ids[0]).state == .paused)
            #expect(try world.transfer(ids[0]).bytesDone == Self.size)
            try change(world, [ids[0]], .resume)
            #expect(try world.run(for: 60) { try isCompleted(world, ids) })
            #expect(world.wire.answered == 1)
            try check(world, ids)
        } else {
            #expect(try world.transfer(ids[0]).state == .cancelled)
            #expect(isBare(world))
        }
    }

    @Test func theFetchEndsWithTheLastOne() throws {
        let world = try world()
        defer { world.cleanUp() }
        let ids = [try add(world, "/d/1"), try add(world, "/e/2"), try add(world, "/d/3")]
        try half(world)
        try change(world, [ids[0], ids[2]], .cancel(keepBytes: false))
        try world.run(for: 1) { try world.transfer(ids[2]).state == .cancelled }
        #expect(!world.wire.order.isEmpty)
        try change(world, [ids[1]], .pause)
        #expect(try world.run(for: 60) { try world.transfer(ids[1]).bytesDone > Self.size / 2 })
        #expect(world.wire.order.isEmpty)
        let kept = try world.transfer(ids[1]).bytesDone
        #expect(kept > Self.size / 2 && kept < Self.size)
        try change(world, [ids[1]], .cancel(keepBytes: false))
        #expect(try world.run(for: 5) { world.disk.names.isEmpty })
    }

    /// Any of them lets it run; when that one goes, it stops.
    @Test func theLeastStrictScheduleCounts() throws {
        let world = try world()
        defer { world.cleanUp() }
        let strict = try add(world, "/d/1") {
            $0.schedule.requires = ConditionNeeds(unmetered: true)
        }
        let later = try add(world, "/d/2") { $0.earliestBegin = world.now.wall + 3600 }
        try world.run(for: 2)
        #expect(world.wire.answered == 0)
        let free = try add(world, "/d/3")
        try half(world)
        #expect(try world.transfer(strict).state == .running)
        #expect(try world.transfer(later).state == .running)
        try change(world, [free], .cancel(keepBytes: false))
        #expect(try world.run(for: 60) { try world.transfer(strict).state == .waiting })
        #expect(world.wire.order.isEmpty)
        #expect(try world.transfer(later).waitingFor.contains { $0.reason == .earliestBegin })
        // Not a byte is lost to the last of them.
        world.pass(3600)
        #expect(try world.run(for: 60) { try isCompleted(world, [strict, later]) })
        try check(world, [strict, later])
    }

    @Test func aDeadlineIsEachOnesOwn() throws {
        let world = try world()
        defer { world.cleanUp() }
        let hurried = try add(world, "/d/1") { $0.deadline = .at(world.now.wall + 1.5) }
        let patient = try add(world, "/d/2")
        #expect(try world.run(for: 60) { try isCompleted(world, [patient]) })
        let late = try world.transfer(hurried)
        #expect(late.error?.code == .timedOut && late.bytesFetched > 0)
        #expect(world.wire.answered == 1)
        #expect(try world.store.events.list(of: hurried).map(\.type) == [.transferFailed])
    }

    @Test func aFailureIsEverybodys() throws {
        let world = try world()
        defer { world.cleanUp() }
        // Larger than they accept.
        let ids = try (1...3).map { number in
            try add(world, "/d/\(number)") { $0.options.maxSize = 1000 }
        }
        #expect(
            try world.run(for: 60) {
                try ids.allSatisfy { try world.transfer($0).state == .failed }
            })
        #expect(world.wire.answered == 1)
        for id in ids {
            #expect(try world.transfer(id).error?.code == .tooLarge)
            #expect(try world.store.events.list(of: id).map(\.type) == [.transferFailed])
        }
    }

    @Test func aFullDiskHoldsOnlyItsOwn() throws {
        let world = try world()
        defer { world.cleanUp() }
        world.disk.copiesFail["full"] = LocalFault(code: .noSpace, message: "full")
        world.disk.copiesFail["shut"] = LocalFault(code: .permission, message: "shut")
        let good = [try add(world, "/d/1"), try add(world, "/d/4")]
        let held = try add(world, "/full/2")
        let shut = try add(world, "/shut/3")
        #expect(try world.run(for: 60) { try isCompleted(world, good) })
        #expect(try world.transfer(held).waitingFor.contains { $0.reason == .storage })
        #expect(try world.transfer(shut).error?.code == .permission)
        world.disk.copiesFail = [:]
        #expect(try world.run(for: 60) { try isCompleted(world, [held]) })
        // From the file of one of the others: the server was only asked whether that is current.
        #expect(try world.transfer(held).bytesFetched == 0 && world.wire.answered == 2)
    }

    @Test func aFinishedFileIsReusedIfItIsStillTheOne() throws {
        let world = try world()
        defer { world.cleanUp() }
        let first = try add(world, "/d/1")
        #expect(try world.run(for: 60) { try isCompleted(world, [first]) })
        let reusing: (inout TransferRequest) -> Void = { $0.options.reuse = true }
        let second = try add(world, "/e/2", reusing)
        #expect(try world.run(for: 60) { try isCompleted(world, [second]) })
        #expect(world.wire.answered == 2)
        try check(world, [first, second])
        // Who does not ask for it gets its own.
        let plain = try add(world, "/d/3")
        #expect(try world.run(for: 60) { try isCompleted(world, [plain]) })
        try check(world, [first, second, plain], received: 2 * Self.size)
        // Changed here: the newest is tried and found to be another.
        for path in ["/d/1", "/e/2", "/d/3"] {
            if let inode = world.disk.names[path] { world.disk.files[inode]?.isForeign = true }
        }
        let anew = try add(world, "/d/4", reusing)
        #expect(try world.run(for: 60) { try isCompleted(world, [anew]) })
        #expect(try world.transfer(anew).bytesFetched == Self.size)
        // Changed there.
        world.wire.contents[Self.url]?.change(label: 9, size: 700, grows: false)
        let changed = try add(world, "/d/5", reusing)
        #expect(try world.run(for: 60) { try isCompleted(world, [changed]) })
        #expect(try world.transfer(changed).bytesFetched == 700)
    }

    @Test func replacedOnesLeaveTheirBytes() throws {
        let world = try world()
        defer { world.cleanUp() }
        let old = try add(world, "/d/1")
        try half(world)
        // Running, and under the very same name.
        let new = try add(world, "/d/1") { $0.options.onDuplicate = .replace }
        #expect(try world.run(for: 60) { try isCompleted(world, [new]) })
        #expect(try world.transfer(old).state == .cancelled && world.wire.answered == 1)

        // Not running: stopped half-way by its own want.
        let second = try self.world(seed: 8)
        defer { second.cleanUp() }
        let paused = try add(second, "/d/1")
        try half(second)
        try change(second, [paused], .pause)
        #expect(try second.run(for: 60) { try second.transfer(paused).bytesDone > 0 })
        let kept = try second.transfer(paused).bytesDone
        let heir = try add(second, "/e/1") { $0.options.onDuplicate = .replace }
        #expect(try second.run(for: 60) { try isCompleted(second, [heir]) })
        #expect(try second.transfer(heir).bytesFetched == Self.size)
        #expect(kept > 0 && second.wire.answered == 2)
        #expect(try second.transfer(paused).state == .cancelled)
        #expect(second.disk.names.keys.sorted() == ["/e/1"])
    }

    /// One that was paused before it had a byte has no part in what the others do.
    @Test func whoIsPausedAndHasNothingIsLeftAlone() throws {
        let world = try world()
        defer { world.cleanUp() }
        let paused = try add(world, "/d/1")
        try change(world, [paused], .pause)
        let other = try add(world, "/d/2")
        try half(world)
        try change(world, [other], .cancel(keepBytes: false))
        #expect(try world.run(for: 5) { world.disk.names.isEmpty })
        try change(world, [paused], .resume)
        #expect(try world.run(for: 60) { try isCompleted(world, [paused]) })
        #expect(isBare(world))
    }

    /// The part file of one that has ended may have the name of another, who begins anew.
    @Test func bytesThatWereHandedDownStay() throws {
        let world = try world()
        defer { world.cleanUp() }
        let old = try add(world, "/d/1")
        try half(world)
        try change(world, [old], .pause)
        #expect(try world.run(for: 60) { try world.transfer(old).bytesDone > 0 })
        let kept = try world.transfer(old).bytesDone
        let heir = try add(world, "/d/2")
        try change(world, [heir], .pause)
        try change(world, [old], .cancel(keepBytes: false))
        #expect(try world.run(for: 5) { try world.transfer(heir).bytesDone == kept })
        try change(world, [heir], .cancel(keepBytes: true))
        #expect(try world.run(for: 5) { try world.transfer(heir).state == .cancelled })
        try change(world, [old], .retry)
        #expect(try world.run(for: 60) { try isCompleted(world, [old]) })
        #expect(try world.transfer(heir).bytesDone == kept)
        try change(world, [heir], .retry)
        #expect(try world.run(for: 60) { try isCompleted(world, [heir]) })
        #expect(try world.transfer(heir).restarts == 0)
        #expect(isBare(world))
    }

    /// Whole, and about to get its name: with the bytes on their way to the disk.
    func nearTheEnd(_ world: SimWorld) throws {
        let isSecuring = {
            world.disk.orders.contains { if case .secure = $0 { true } else { false } }
        }
        try #require(try world.run(for: 60, disk: 1, until: isSecuring))
    }

    /// One that has its name, and has failed because the directory could not be synced.
    private func named(_ world: SimWorld, _ path: String) throws -> TransferID {
        let id = try add(world, path)
        try nearTheEnd(world)
        world.disk.trouble.directory = 1
        #expect(try world.run(for: 60) { try world.transfer(id).state == .failed })
        try #require(world.disk.names[path] != nil)
        return id
    }

    /// The one that has the bytes waits for its window, and the other one for a machine that nobody
    /// uses: what lets them run is watched while they run, or it would be unknown and end that.
    @Test func whatLetsAFollowerRunIsWatched() throws {
        let world = try world()
        defer { world.cleanUp() }
        try world.restart(in: .utc)
        world.conditions.isIdle = Reading(true, source: "test", since: world.now.wall)
        world.tellConditions()
        let first = try add(world, "/d/1")
        try half(world)
        var window = RequestChange()
        window.windows = TimeWindows(parsing: "01:00-02:00")
        try world.clients.wants.change(first, window, now: world.now.wall)
        world.inputs.append(.wake)
        try #require(try world.run(for: 20) { try world.transfer(first).state == .waiting })
        let second = try add(world, "/e/2") { $0.schedule.requires = ConditionNeeds(idle: true) }
        #expect(try world.run(for: 60) { try isCompleted(world, [first, second]) })
        try check(world, [first, second])
    }

    /// It leads far from the part file, and is paused too late to be stopped: its copy fails. The
    /// last one keeps the bytes, which nobody else has.
    @Test func whoIsPausedAtTheEndMayGetNoCopy() throws {
        let world = try world()
        defer { world.cleanUp() }
        let ids = [try add(world, "/d/1"), try add(world, "/e/2"), try add(world, "/e/3")]
        try half(world)
        try change(world, [ids[0]], .cancel(keepBytes: false))
        try change(world, [ids[2]], .pause)
        try nearTheEnd(world)
        try change(world, [ids[1]], .pause)
        try world.run(for: 0.2, disk: 0)
        world.disk.copiesFail["e"] = LocalFault(code: .permission, message: "shut")
        try world.run(for: 10)
        #expect(try ids.map { try world.transfer($0).state } == [.cancelled, .paused, .paused])
        #expect(!isBare(world))
        world.disk.copiesFail = [:]
        try change(world, [ids[1], ids[2]], .resume)
        #expect(try world.run(for: 60) { try isCompleted(world, [ids[1], ids[2]]) })
        #expect(isBare(world) && world.tally.bytes == Self.size)
    }

    /// It came too late, and then the disk failed: it is heeded after all.
    @Test(arguments: 1...12 as ClosedRange<UInt64>, [false, true])
    func aCancelIsNotForgotten(_ seed: UInt64, isShared: Bool) throws {
        let world = try world(seed: seed)
        defer { world.cleanUp() }
        let id = try add(world, "/d/1")
        if isShared {
            let other = try add(world, "/d/2")
            try half(world)
            try change(world, [other], .pause)
        }
        try nearTheEnd(world)
        try change(world, [id], .cancel(keepBytes: false))
        try world.run(for: 0.2, disk: 0)
        world.disk.trouble.sync = 1
        let ends: [EventType] = [.transferCancelled, .transferFailed]
        #expect(try world.run(for: 10) { try world.store.events.list(of: id).map(\.type) != [] })
        #expect(try world.store.events.list(of: id).map(\.type).allSatisfy(ends.contains))
    }

    /// It has been given its name, and the sync of the directory failed: nobody else may go on with
    /// its bytes, or it would find its own file in its way.
    @Test func whoMayHaveItsNameSharesWithNobody() throws {
        let world = try world()
        defer { world.cleanUp() }
        let first = try named(world, "/d/1")
        // Another asks for the same while the file is looked for, and it cannot be opened.
        world.disk.trouble.directory = 0
        world.disk.trouble.open = 1
        try change(world, [first], .retry)
        try world.run(for: 0.1, disk: 0)
        let second = try add(world, "/d/2")
        try world.run(for: 0.1, disk: 0)
        #expect(try world.run(for: 10) { try world.transfer(first).state == .failed })
        world.disk.trouble.open = 0
        try change(world, [second], .retry)
        #expect(try world.run(for: 60) { try isCompleted(world, [second]) })
        try change(world, [first], .retry)
        #expect(try world.run(for: 60) { try isCompleted(world, [first]) })
        #expect(try world.transfer(first).bytesFetched == Self.size)
        #expect(isBare(world))
    }

    /// The same file, of one that is cancelled while it is looked for.
    @Test func whatMayHaveItsNameIsDeletedThere() throws {
        let world = try world()
        defer { world.cleanUp() }
        let id = try named(world, "/d/1")
        world.disk.trouble.open = 1
        try change(world, [id], .retry)
        try world.run(for: 0.1, disk: 0)
        try change(world, [id], .cancel(keepBytes: false))
        try world.run(for: 0.1, disk: 0)
        #expect(try world.run(for: 10) { world.disk.names.isEmpty })
        #expect(try world.store.events.list(of: id).map(\.type).last == .transferCancelled)
    }

    /// Asked for again it is looked for, found under the name of the part, and shared as ever.
    @Test func whoDidNotGetItsNameSharesAgain() throws {
        let world = try world()
        defer { world.cleanUp() }
        let first = try add(world, "/d/1")
        try half(world)
        world.disk.trouble.rename = 1
        #expect(try world.run(for: 60) { try world.transfer(first).state == .failed })
        world.disk.trouble.rename = 0
        try change(world, [first], .retry)
        try nearTheEnd(world)
        let second = try add(world, "/e/2")
        // Handed on by a crash, too.
        try world.run(for: 0.1, disk: 0)
        #expect(try world.transfer(first).sharedWith == [second])
        try world.crash()
        #expect(try world.run(for: 60) { try isCompleted(world, [first, second]) })
        #expect(world.wire.answered == 1)
        #expect(isBare(world))
    }

    /// The copy is made when nobody turns any more, and whom it was for gives up: no engine would
    /// ever make it anew in its place.
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func whoLeavesWhileCopiesAreMadeLeavesNone(_ seed: UInt64) throws {
        let world = try world(seed: seed)
        defer { world.cleanUp() }
        let stays = try add(world, "/d/1")
        let goes = try add(world, "/e/2")
        let isCopying = {
            world.disk.orders.contains { if case .copy = $0 { true } else { false } }
        }
        try #require(try world.run(for: 60, disk: 1, until: isCopying))
        try world.leave()
        try change(world, [goes], .cancel(keepBytes: true))
        #expect(try world.run(for: 60) { try isCompleted(world, [stays]) })
        #expect(try world.transfer(goes).state == .cancelled)
        #expect(world.disk.names.keys.sorted() == ["/d/1"])
    }
}
