package import LonghaulModel

/// The transfers that one fetch serves. One of them leads: the writes of the fetch name it, and it
/// gets the part file itself where that is in its directory; the others follow and get copies.
///
/// A value without side effects: the next leader, and the settings merged from all.
package struct Subscribers: Hashable, Sendable {
    package private(set) var leader: Subscriber
    /// The followers in the order of their joining.
    package private(set) var followers: [Subscriber] = []

    package init(leader: Subscriber) {
        self.leader = leader
    }

    package var isShared: Bool { !followers.isEmpty }
    package var isOfUpload: Bool { leader.request.options.upload != nil }
    package var count: Int { 1 + followers.count }
    package var all: [Subscriber] { followers.isEmpty ? [leader] : [leader] + followers }
    package var wanted: [Subscriber] { all.filter(\.isWanted) }
    package var isWanted: Bool { all.contains(where: \.isWanted) }

    package subscript(id: TransferID) -> Subscriber? {
        id == leader.id ? leader : followers.first { $0.id == id }
    }

    // MARK: - Coming and going

    /// A newcomer, or a changed subscriber.
    package mutating func admit(_ subscriber: Subscriber) {
        if subscriber.id == leader.id {
            leader = subscriber
        } else if let index = followers.firstIndex(where: { $0.id == subscriber.id }) {
            followers[index] = subscriber
        } else {
            followers.append(subscriber)
        }
    }

    private var isEachOnce: Bool { !followers.contains { $0.id == leader.id } }

    /// The result of a departure.
    package enum Departure: Hashable, Sendable {
        case wasNotThere
        /// The others continue as before.
        case follower
        /// Another leads now.
        case succeeded(by: TransferID)
        /// The transfer was the last one: the fetch is its own, and ends as it ends.
        case wasLast
    }

    /// Removes a subscriber. The last one stays: it decides about the fetch.
    ///
    /// - Parameter home: The directory of the part file: one with its destination there can be
    ///   given the file itself.
    package mutating func remove(_ id: TransferID, home: String) -> Departure {
        if let index = followers.firstIndex(where: { $0.id == id }) {
            followers.remove(at: index)
            return .follower
        }
        guard id == leader.id else { return .wasNotThere }
        guard let next = Subscribers.successor(among: followers, home: home) else {
            return .wasLast
        }
        followers.removeAll { $0.id == next.id }
        leader = next
        assert(isEachOnce, "a subscriber leads or follows")
        return .succeeded(by: next.id)
    }

    /// The leader steps back and follows: it is paused while others are not.
    package mutating func stepDown(home: String) -> TransferID? {
        let others = followers.filter(\.isWanted)
        guard let next = Subscribers.successor(among: others, home: home) else { return nil }
        followers.removeAll { $0.id == next.id }
        followers.append(leader)
        leader = next
        assert(isEachOnce, "a subscriber leads or follows")
        return next.id
    }

    /// The next leader: a transfer that wants to run before one that does not; one that can be
    /// given the file itself before one that must copy it; then the earliest.
    package static func successor(among subscribers: [Subscriber], home: String) -> Subscriber? {
        subscribers.min { left, right in
            rank(left, home) == rank(right, home)
                ? left.id < right.id : rank(left, home) < rank(right, home)
        }
    }

    private static func rank(_ subscriber: Subscriber, _ home: String) -> Int {
        (subscriber.isWanted ? 0 : 2) + (subscriber.isAt(home) ? 0 : 1)
    }
}

/// The part of one transfer in a fetch, as far as the fetch must heed it.
package struct Subscriber: Hashable, Sendable {
    package var id: TransferID
    package var request: TransferRequest
    /// Absolute path of its reserved destination.
    package var destination: String
    package var deadline: Timestamp
    package var eligibility: EligibilityKey
    /// The transfer wants to run. A paused one gets the bytes and keeps no fetch going.
    package var isWanted: Bool
    /// Body bytes that were received for it before it shared.
    package var bytesFetched: Int64
    /// The number of fetches that it has left to others, whose part files may have its name: the
    /// next gets another one.
    package var partSuffix = 0
    /// Where a program begins that reads the bytes as they come; `nil` = none reads.
    package var readFrom: Int64?

    package init(
        id: TransferID, request: TransferRequest, destination: String, deadline: Timestamp,
        eligibility: EligibilityKey, isWanted: Bool, bytesFetched: Int64
    ) {
        self.id = id
        self.request = request
        self.destination = destination
        self.deadline = deadline
        self.eligibility = eligibility
        self.isWanted = isWanted
        self.bytesFetched = bytesFetched
    }

    /// True if the file in that directory can be given to it by a rename.
    package func isAt(_ home: String) -> Bool {
        FileNaming.directory(of: destination).isExactly(home)
    }

    /// The clock was set by `jump` milliseconds, and shows `now`. The store does the same to
    /// transfers that do not run (`Store.follow`).
    package func moved(by jump: Int64, now: Timestamp) -> Subscriber {
        guard case .after(let seconds) = request.deadline else { return self }
        let began = deadline + -seconds
        let wasAskedFor = request.earliestBegin.map { $0 >= began } ?? false
        // The moment by the clock before; without one that was asked for, no later.
        let before = now.milliseconds.subtractingClamped(jump)
        let wasPast = began.milliseconds <= before.addingClamped(Limits.clockJumpMilliseconds)
        let isWrong =
            jump > 0 ? began <= now && (wasPast || wasAskedFor) : began > now && !wasAskedFor
        guard isWrong else { return self }
        var moved = self
        let shift = min(jump, now.milliseconds.subtractingClamped(began.milliseconds))
        moved.deadline.milliseconds = min(
            deadline.milliseconds.addingClamped(shift), Timestamp.distantFuture.milliseconds)
        return moved
    }
}
