import LonghaulCore
import LonghaulEngine
import LonghaulStore
import Testing

@testable import LonghaulSimulation

/// What is wanted otherwise when the file is whole and has no name yet.
extension SharingTests {
    private func isCopying(_ world: SimWorld) -> Bool {
        world.disk.orders.contains { if case .copy = $0 { true } else { false } }
    }

    private func isPreparing(_ world: SimWorld, _ destination: String) -> Bool {
        world.disk.orders.contains { order in
            guard case .prepare(_, let part, _) = order else { return false }
            return part.publication == destination
        }
    }

    /// Whose leader was cancelled: it leads and is given a copy.
    private func heir(_ world: SimWorld) throws -> TransferID {
        let first = try add(world, "/d/1")
        let heir = try add(world, "/e/2")
        try half(world)
        try change(world, [first], .cancel(keepBytes: false))
        try #require(try world.run(for: 60, disk: 1) { isCopying(world) })
        return heir
    }

    private func ends(_ world: SimWorld, _ id: TransferID) throws -> [EventType] {
        try world.store.events.list(of: id).map(\.type).filter { $0 != .transferRestarted }
    }

    /// Copies of a whole file are fetches of their own until they have their names.
    @Test func aPausedTransferGoesOnInItsOwnFetch() throws {
        let world = try world()
        defer { world.cleanUp() }
        var ids = [try add(world, "/d/1"), try add(world, "/e/2"), try add(world, "/f/3")]
        try #require(try world.run(for: 60, disk: 1) { isPreparing(world, "/f/3") })
        ids.append(try add(world, "/g/4"))
        try world.run(for: 0.1, disk: 0)
        #expect(try world.transfer(ids[3]).sharedWith == [ids[1]])
        try change(world, [ids[1]], .pause)
        // The fetch of another copy comes first from now on.
        try world.restart(in: .utc)
        try world.run(for: 0.1, disk: 0)
        try change(world, [ids[1]], .resume)
        #expect(try world.run(for: 60) { try isCompleted(world, ids) })
        try check(world, ids)
    }

    /// The bytes go to one that is paused.
    @Test(arguments: [true, false]) func whoIsPausedKeepsTheBytes(_ isCancelled: Bool) throws {
        let world = try world()
        defer { world.cleanUp() }
        let other = Self.url + "?2"
        world.wire.contents[other] = world.wire.contents[Self.url]
        let ids = [try add(world, "/d/1"), try add(world, "/d/2")]
        try half(world)
        try change(world, [ids[1]], .pause)
        try nearTheEnd(world)
        if isCancelled {
            try change(world, [ids[0]], .cancel(keepBytes: false))
        } else {
            var change = RequestChange()
            change.url = (other, SimWire.origin(of: other))
            try world.clients.wants.change(ids[0], change, now: world.now.wall)
            world.inputs.append(.wake)
        }
        try world.run(for: 0.2, disk: 0)
        let end = isCancelled ? TransferState.cancelled : .completed
        #expect(try world.run(for: 60) { try world.transfer(ids[0]).state == end })
        #expect(try world.transfer(ids[1]).state == .paused)
        try change(world, [ids[1]], .resume)
        #expect(try world.run(for: 60) { try isCompleted(world, [ids[1]]) })
        try check(
            world, isCancelled ? [ids[1]] : ids, received: isCancelled ? Self.size : 2 * Self.size)
    }

    /// While it is made durable, and while its digest is looked at.
    @Test(arguments: [true, false]) func aCancelAtTheEndIsHeeded(_ keepBytes: Bool) throws {
        let world = try world()
        defer { world.cleanUp() }
        let id = try add(world, "/d/1")
        try nearTheEnd(world)
        try change(world, [id], .cancel(keepBytes: keepBytes))
        try world.run(for: 0.2, disk: 0)
        #expect(try world.run(for: 60) { try ends(world, id) != [] })
        #expect(try ends(world, id) == [.transferCancelled])
        #expect(try world.run(for: 60) { isBare(world) == !keepBytes })
        #expect(world.disk.names["/d/1"] == nil)
        try change(world, [id], .retry)
        #expect(try world.run(for: 60) { try isCompleted(world, [id]) })
        #expect(world.disk.names["/d/1"] != nil && isBare(world))
    }

    /// The leader is gone; the others get theirs.
    @Test func aLeaderIsCancelledWhileCopiesAreMade() throws {
        let world = try world()
        defer { world.cleanUp() }
        let ids = [try add(world, "/d/1"), try add(world, "/e/2"), try add(world, "/f/3")]
        try #require(try world.run(for: 60, disk: 1) { isCopying(world) })
        try change(world, [ids[0]], .cancel(keepBytes: false))
        try world.run(for: 0.2, disk: 0)
        #expect(try world.run(for: 60) { try isCompleted(world, Array(ids[1...])) })
        #expect(try ends(world, ids[0]) == [.transferCancelled])
        #expect(world.disk.names["/d/1"] == nil)
        try check(world, Array(ids[1...]))
    }

    /// It has its copy, which is a fetch of its own by then.
    @Test(arguments: [true, false]) func aCancelWhileItsCopyIsMade(_ keepBytes: Bool) throws {
        let world = try world()
        defer { world.cleanUp() }
        let heir = try heir(world)
        try change(world, [heir], .cancel(keepBytes: keepBytes))
        try world.run(for: 0.2, disk: 0)
        #expect(try world.run(for: 60) { try ends(world, heir) == [.transferCancelled] })
        #expect(try world.run(for: 60) { isBare(world) == !keepBytes })
        #expect(world.disk.names["/e/2"] == nil)
    }

    /// Another's copy is still under way when the last one has its own, and the engine leaves.
    @Test func nobodyIsLeftBehindWithAFetch() throws {
        let world = try world()
        defer { world.cleanUp() }
        let heir = try heir(world)
        let late = try add(world, "/f/3")
        try world.run(for: 0.2, disk: 0)
        try change(world, [late], .cancel(keepBytes: false))
        try world.run(for: 0.2, disk: 0)
        #expect(world.disk.orders.count { if case .copy = $0 { true } else { false } } == 2)
        world.disk.step()
        try world.run(for: 0.2, disk: 0)
        try world.leave()
        #expect(try world.run(for: 60) { try isCompleted(world, [heir]) })
        try check(world, [heir])
    }

    /// The wire is being stopped, and a checkpoint made, when it is wanted again.
    @Test(arguments: 0...6) func aCancelIsTakenBack(steps: Int) throws {
        let world = try world()
        defer { world.cleanUp() }
        let id = try add(world, "/d/1")
        try half(world)
        try change(world, [id], .cancel(keepBytes: false))
        try world.run(for: 0.05 * Double(steps), disk: 0)
        for _ in 0..<steps / 2 { world.disk.step() }
        let answer = try world.clients.wants.change(.ids([id]), to: .retry).first?.result
        #expect(answer == .changed)
        world.inputs.append(.wake)
        #expect(try world.run(for: 60) { try isCompleted(world, [id]) })
        #expect(world.disk.names["/d/1"] != nil && isBare(world))
    }

    /// The plan that stops a fetch may start another transfer of the file: it joins the fetch, and
    /// goes back to the queue with the others.
    @Test func aTransferThatJoinsAFetchBeingStoppedIsQueuedWithIt() throws {
        let world = try world()
        defer { world.cleanUp() }
        try world.tell("power=external")
        let whole = try add(world, "/d/1")
        #expect(try world.run(for: 60) { try isCompleted(world, [whole]) })
        let held = try add(world, "/e/2") {
            $0.options.reuse = true
            $0.schedule.requires = ConditionNeeds(power: true)
        }
        // Nothing is on the wire: the fetch leaves at once.
        let isFilling = try world.run(for: 60, disk: 1) {
            world.disk.orders.contains { if case .fill = $0 { true } else { false } }
        }
        try #require(isFilling)
        let free = try add(world, "/d/3")
        try world.tell("power=battery")
        // One that runs is enough for both.
        #expect(try world.run(for: 60) { try isCompleted(world, [held, free]) })
    }
}
