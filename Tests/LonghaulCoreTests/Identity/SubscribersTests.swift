import LonghaulCore
import Testing

@Suite struct SubscribersTests {
    private static let now = Timestamp(milliseconds: 1_000_000)

    private func subscriber(
        _ id: Int64, _ directory: String = "/d", wanted: Bool = true, deadline: Double = 100,
        _ edit: (inout TransferRequest) -> Void = { _ in }
    ) -> Subscriber {
        var request = TransferRequest(url: "http://h/f", destination: .file("\(directory)/f\(id)"))
        edit(&request)
        return Subscriber(
            id: TransferID(rawValue: id), request: request, destination: "\(directory)/f\(id)",
            deadline: Self.now + deadline,
            eligibility: EligibilityKey(request.schedule, isDiscretionary: request.isDiscretionary),
            isWanted: wanted, bytesFetched: 0)
    }

    private func subscribers(_ members: Subscriber...) -> Subscribers {
        var subscribers = Subscribers(leader: members[0])
        for subscriber in members.dropFirst() { subscribers.admit(subscriber) }
        return subscribers
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
            var subscribers = Subscribers(leader: subscriber(1))
            for (index, (directory, wanted)) in row.followers.enumerated() {
                subscribers.admit(subscriber(Int64(index) + 2, directory, wanted: wanted))
            }
            #expect(subscribers.remove(id(1), home: "/d") == .succeeded(by: id(row.next)))
            #expect(subscribers.leader.id == id(row.next) && subscribers.followers.count == 2)
        }
    }

    @Test func comingAndGoing() {
        var subscribers = subscribers(subscriber(1), subscriber(2))
        #expect(subscribers.isShared)
        subscribers.admit(subscriber(2, wanted: false))
        #expect(subscribers.followers.count == 1 && subscribers[id(2)]?.isWanted == false)
        #expect(subscribers.remove(id(9), home: "/d") == .wasNotThere)
        #expect(subscribers.remove(id(2), home: "/d") == .follower)
        #expect(!subscribers.isShared)
        #expect(subscribers.remove(id(1), home: "/d") == .wasLast)
        #expect(subscribers.leader.id == id(1))
    }

    @Test func aPausedLeaderStepsDownWhereSomebodyGoesOn() {
        var subscribers = subscribers(subscriber(1, wanted: false), subscriber(2, wanted: false))
        #expect(subscribers.stepDown(home: "/d") == nil && !subscribers.isWanted)
        subscribers.admit(subscriber(3, "/e"))
        #expect(subscribers.stepDown(home: "/d") == id(3))
        #expect(
            subscribers.leader.id == id(3) && subscribers.followers.map(\.id) == [id(2), id(1)])
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
        let alone = subscribers(subscriber(1, deadline: 10, strict))
        #expect(alone.request == alone.leader.request && alone.deadline == Self.now + 10)
        #expect(!alone.isTimely(now: Self.now) && alone.isTimely(now: Self.now + 50))
        #expect(!alone.gate(in: ConditionSnapshot(), now: Self.now).isOpen)

        var both = alone
        both.admit(subscriber(2, deadline: 20) { $0.options.limitRate = 30 })
        let merged = both.request
        #expect(!merged.isDiscretionary && merged.options.yields == false)
        #expect(merged.options.limitRate == 30 && merged.options.retries == nil)
        #expect(merged.options.stallTimeout == 60 && !merged.options.failOnFullDisk)
        #expect(both.deadline == Self.now + 20 && both.isTimely(now: Self.now))
        #expect(both.gate(in: ConditionSnapshot(), now: Self.now).isOpen)
        #expect(!both.eligibility.isDiscretionary && both.eligibilities().count == 2)

        // One whose time has not come lets nothing run.
        var early = alone
        early.admit(subscriber(3) { $0.earliestBegin = Self.now + 90 })
        #expect(!early.gate(in: ConditionSnapshot(), now: Self.now + 60).isOpen)
        #expect(early.gate(in: ConditionSnapshot(), now: Self.now + 90).isOpen)

        // Paused, it loosens nothing any more.
        both.admit(subscriber(2, wanted: false))
        #expect(both.request == alone.request && both.eligibilities() == alone.eligibilities())
    }
}
