import LonghaulCore
import Testing

@Suite struct RosterTests {
    private static let now = Timestamp(milliseconds: 1_000_000)

    private func sharer(
        _ id: Int64, _ directory: String = "/d", wanted: Bool = true, deadline: Double = 100,
        _ edit: (inout TransferRequest) -> Void = { _ in }
    ) -> Sharer {
        var request = TransferRequest(url: "http://h/f", destination: .file("\(directory)/f\(id)"))
        edit(&request)
        return Sharer(
            id: TransferID(rawValue: id), request: request, destination: "\(directory)/f\(id)",
            deadline: Self.now + deadline,
            lane: ScheduleClass(request.schedule, isDiscretionary: request.isDiscretionary),
            isWanted: wanted, bytesFetched: 0)
    }

    private func roster(_ sharers: Sharer...) -> Roster {
        var roster = Roster(leader: sharers[0])
        for sharer in sharers.dropFirst() { roster.admit(sharer) }
        return roster
    }

    private func id(_ number: Int64) -> TransferID { TransferID(rawValue: number) }

    /// Directory and want of those that follow, and who leads after the first one has gone.
    private struct Succession {
        var followers: [(String, Bool)]
        var next: Int64
    }

    private static let successions: [Succession] = [
        Succession(followers: [("/d", true), ("/d", true), ("/d", true)], next: 2),
        Succession(followers: [("/e", true), ("/d", true), ("/e", true)], next: 3),
        Succession(followers: [("/d", false), ("/e", true), ("/e", true)], next: 3),
        Succession(followers: [("/e", false), ("/d", false), ("/e", false)], next: 3),
        Succession(followers: [("/e", false), ("/e", false), ("/d", true)], next: 4),
    ]

    @Test func succession() {
        for row in Self.successions {
            var roster = Roster(leader: sharer(1))
            for (index, (directory, wanted)) in row.followers.enumerated() {
                roster.admit(sharer(Int64(index) + 2, directory, wanted: wanted))
            }
            #expect(roster.remove(id(1), home: "/d") == .succeeded(by: id(row.next)))
            #expect(roster.leader.id == id(row.next) && roster.followers.count == 2)
        }
    }

    @Test func comingAndGoing() {
        var roster = roster(sharer(1), sharer(2))
        #expect(roster.isShared)
        roster.admit(sharer(2, wanted: false))
        #expect(roster.followers.count == 1 && roster[id(2)]?.isWanted == false)
        #expect(roster.remove(id(9), home: "/d") == .wasNotThere)
        #expect(roster.remove(id(2), home: "/d") == .follower)
        #expect(!roster.isShared)
        #expect(roster.remove(id(1), home: "/d") == .wasLast)
        #expect(roster.leader.id == id(1))
    }

    @Test func aPausedLeaderStepsDownWhereSomebodyGoesOn() {
        var roster = roster(sharer(1, wanted: false), sharer(2, wanted: false))
        #expect(roster.stepDown(home: "/d") == nil && !roster.isWanted)
        roster.admit(sharer(3, "/e"))
        #expect(roster.stepDown(home: "/d") == id(3))
        #expect(roster.leader.id == id(3) && roster.followers.map(\.id) == [id(2), id(1)])
    }

    @Test func theLeastStrictCounts() {
        let strict: (inout TransferRequest) -> Void = {
            $0.isDiscretionary = true
            $0.schedule.requires = ConditionNeeds(unmetered: true)
            $0.options.limitRate = 10
            $0.options.retries = 1
            $0.options.stallTimeout = 5
            $0.options.failOnFullDisk = true
            $0.earliestBegin = Self.now + 50
        }
        let alone = roster(sharer(1, deadline: 10, strict))
        #expect(alone.request == alone.leader.request && alone.deadline == Self.now + 10)
        #expect(!alone.isTimely(now: Self.now) && alone.isTimely(now: Self.now + 50))
        #expect(!alone.gate(in: Surroundings(), now: Self.now).isOpen)

        var both = alone
        both.admit(sharer(2, deadline: 20) { $0.options.limitRate = 30 })
        let merged = both.request
        #expect(!merged.isDiscretionary && merged.options.yields == false)
        #expect(merged.options.limitRate == 30 && merged.options.retries == nil)
        #expect(merged.options.stallTimeout == 60 && !merged.options.failOnFullDisk)
        #expect(both.deadline == Self.now + 20 && both.isTimely(now: Self.now))
        #expect(both.gate(in: Surroundings(), now: Self.now).isOpen)
        #expect(!both.lane.isDiscretionary && both.lanes.count == 2)

        // One whose time has not come lets nothing run.
        var early = alone
        early.admit(sharer(3) { $0.earliestBegin = Self.now + 90 })
        #expect(!early.gate(in: Surroundings(), now: Self.now + 60).isOpen)
        #expect(early.gate(in: Surroundings(), now: Self.now + 90).isOpen)

        // Paused, it loosens nothing any more.
        both.admit(sharer(2, wanted: false))
        #expect(both.request == alone.request && both.lanes == alone.lanes)
    }
}
