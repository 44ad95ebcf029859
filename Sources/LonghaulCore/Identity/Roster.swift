/// The transfers that one fetch serves. One of them leads: its name is on what is written of the
/// fetch, and it is given the part file itself where that stands in its directory; the others
/// follow and are given copies.
///
/// A value without side effects: who leads after whom, and what the fetch heeds of all.
package struct Roster: Hashable, Sendable {
    package private(set) var leader: Sharer
    /// In the order in which they joined.
    package private(set) var followers: [Sharer] = []

    package init(leader: Sharer) {
        self.leader = leader
    }

    package var isShared: Bool { !followers.isEmpty }
    package var count: Int { 1 + followers.count }
    package var all: [Sharer] { followers.isEmpty ? [leader] : [leader] + followers }
    package var wanted: [Sharer] { all.filter(\.isWanted) }
    package var isWanted: Bool { all.contains(where: \.isWanted) }

    package subscript(id: TransferID) -> Sharer? {
        id == leader.id ? leader : followers.first { $0.id == id }
    }

    // MARK: - Coming and going

    /// A newcomer, or what has changed of one that is there.
    package mutating func admit(_ sharer: Sharer) {
        if sharer.id == leader.id {
            leader = sharer
        } else if let index = followers.firstIndex(where: { $0.id == sharer.id }) {
            followers[index] = sharer
        } else {
            followers.append(sharer)
        }
    }

    /// What a departure leaves behind.
    package enum Departure: Hashable, Sendable {
        case wasNotThere
        /// The others go on as before.
        case follower
        /// Another leads now.
        case succeeded(by: TransferID)
        /// It was the last one: the fetch is its own, and ends as it ends.
        case wasLast
    }

    /// Takes one out. The last one stays where it is: what becomes of the fetch is its affair.
    ///
    /// - Parameter home: The directory of the part file: who has its destination there can be given
    ///   the file itself.
    package mutating func remove(_ id: TransferID, home: String) -> Departure {
        if let index = followers.firstIndex(where: { $0.id == id }) {
            followers.remove(at: index)
            return .follower
        }
        guard id == leader.id else { return .wasNotThere }
        guard let next = Roster.successor(among: followers, home: home) else { return .wasLast }
        followers.removeAll { $0.id == next.id }
        leader = next
        return .succeeded(by: next.id)
    }

    /// The leader steps back and follows: it is paused while others are not.
    package mutating func stepDown(home: String) -> TransferID? {
        let others = followers.filter(\.isWanted)
        guard let next = Roster.successor(among: others, home: home) else { return nil }
        followers.removeAll { $0.id == next.id }
        followers.append(leader)
        leader = next
        return next.id
    }

    /// Who wants to run before who does not; who can be given the file itself before who must copy
    /// it; then who came first.
    package static func successor(among sharers: [Sharer], home: String) -> Sharer? {
        sharers.min { left, right in
            rank(left, home) == rank(right, home)
                ? left.id < right.id : rank(left, home) < rank(right, home)
        }
    }

    private static func rank(_ sharer: Sharer, _ home: String) -> Int {
        (sharer.isWanted ? 0 : 2) + (sharer.isAt(home) ? 0 : 1)
    }
}
