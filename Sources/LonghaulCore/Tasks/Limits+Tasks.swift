/// Learning when hosts are used.
///
/// The numbers were chosen by a simulated month of several patterns of use. Numbers beside them do
/// nearly as well, so nothing is gained by turning them for one pattern.
extension Limits {
    // What is kept.
    /// Uses so close together count once.
    package static let usageBurstSeconds: Double = 3600
    /// Days before today of which uses are kept: whole weeks.
    package static let usageDays = 21
    /// Uses of one day that are kept; no more bursts begin in a day, unless the clock is set.
    package static let usesPerDay = 24

    // What is expected: the weight of a day that was for a day to come.
    /// A weekday counts for itself a week later, and by this factor less each week after that.
    package static let usageWeekDecay = 0.8
    /// A day counts for the next one, and by this factor less each day after that.
    package static let usageDayDecay = 0.3
    /// Quarter hours between uses that count as at the same time. People come some 20 minutes
    /// earlier or later than usual.
    package static let usageMatchQuarters = 2
    /// How much more the likelier of the two counts, weekdays or the days before: a power.
    package static let usageSimilarityPower = 4
    /// Expected uses of a day that may fail to come until its other ones are believed to be half as
    /// likely.
    package static let usagePrior = 0.3

    // What follows from it.
    /// Before so long an observation refreshes run as asked.
    package static let usageLearningSeconds: Double = 7 * 86_400
    /// A host without a use for so long has one refresh a day; its next use begins a new
    /// observation.
    package static let usageForgottenSeconds: Double = 14 * 86_400
    /// The longest time from one refresh to the next that learning makes.
    package static let refreshHeldSeconds: Double = 86_400
    /// A use is likely where so many are expected…
    package static let likelyUse = 0.3
    /// …in so many quarter hours from now on.
    package static let likelyUseQuarters = 3
}
