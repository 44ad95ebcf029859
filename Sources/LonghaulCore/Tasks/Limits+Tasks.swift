/// Learning when hosts are used.
extension Limits {
    /// Uses so close together count once.
    package static let usageBurstSeconds: Double = 3600
    /// Days before today of which uses are kept: whole weeks.
    package static let usageDays = 21
    /// Uses of one day that are kept: at most one an hour.
    package static let usesPerDay = 24
    /// What the same weekday counts, of what it counts a week later.
    package static let usageWeekDecay = 0.7
    /// What a day counts for those after it, of what it counts a day later.
    package static let usageDayDecay = 0.5
    /// Before so long an observation refreshes run as asked.
    package static let usageLearningSeconds: Double = 7 * 86_400
    /// A host without a use for so long has at most two refreshes a day,…
    package static let usageSeldomSeconds: Double = 7 * 86_400
    /// …and for so long one; its next use begins a new observation.
    package static let usageForgottenSeconds: Double = 14 * 86_400
    /// The longest time from one refresh to the next that learning makes.
    package static let refreshHeldSeconds: Double = 86_400
    /// Expected uses within an hour that make it a likely one,…
    package static let likelyUse = 0.1
    /// …and of the likeliest hour of a day such a part.
    package static let likelyUseOfPeak = 0.6
}
