/// One transfer's part in a fetch: what of it the fetch must heed.
package struct Subscriber: Hashable, Sendable {
    package var id: TransferID
    package var request: TransferRequest
    /// Absolute path of its reserved destination.
    package var destination: String
    package var deadline: Timestamp
    package var eligibility: EligibilityKey
    /// It wants to run. One that is paused gets the bytes and keeps no fetch going.
    package var isWanted: Bool
    /// Body bytes that were received for it before it shared.
    package var bytesFetched: Int64
    /// So many fetches it has left to others, whose part files may have its name: the next gets
    /// another one.
    package var partSuffix = 0

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

    /// It can be given what is in that directory by a rename.
    package func isAt(_ home: String) -> Bool {
        FileNaming.directory(of: destination).isExactly(home)
    }

    /// The clock was set by so many milliseconds, and shows `now`: the store does the same to
    /// those that do not run (`Store.follow`).
    package func moved(by jump: Int64, now: Timestamp) -> Subscriber {
        guard case .after(let seconds) = request.deadline else { return self }
        let began = deadline + -seconds
        let wasAskedFor = request.earliestBegin.map { $0 >= began } ?? false
        // By the clock before; without one that was asked for, no later.
        let before = now.milliseconds.subtractingClamped(jump)
        let wasPast = began.milliseconds <= before.addingClamped(ClockMark.smallestJump)
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
