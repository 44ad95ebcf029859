import LonghaulCore
import LonghaulStore

/// A task request or a wake-up, and what is expected of it by what was seen from the outside. Each
/// has a number of its own, which its payload carries.
struct SimTask {
    struct Key: Hashable {
        var host: String
        var identifier: String
        var isWakeUp = false
    }

    let number: Int
    let key: Key
    let request: TaskRequest
    let submitted: Moment
    /// Of a wake-up.
    var expiresAt: Timestamp?
    var isUrgent = false
    /// `nil` = the defaults.
    var prefers: ConditionNeeds?
    /// An engine that died may have handed it over: its urgency is used up then.
    var mayHaveBeenHanded = false
    /// Another has its place, or a client does not want it any more.
    var isGone = false
    /// Of a wake-up: another was asked for since.
    var isReplaced = false
    /// The store says that it was carried out.
    var isDone = false
    /// The launch that carries it, and the last that did.
    var launch: LaunchID?
    var lastLaunch: LaunchID?
    var begun: Moment?
    /// When the last run was settled.
    var ended: Moment?
    var failures = 0
    var deferrals = 0
    /// A client has asked for its launch, or for the end of that.
    var isSimulated = false
    var isToExpire = false
    /// A client has cancelled the run of a continued task.
    var isStopped = false
    /// A client had asked for it: what it requires need not hold.
    var beganAsAsked = false
    /// A run that a client had asked for was put off: it comes again, whatever its interval.
    var returnsAsAsked = false
    /// What it stands for has happened.
    var firedAt: Moment?
    var firesAgain = false
    /// Failures of its host were forgotten since it ended.
    var isForgiven = false

    var isLive: Bool { !isGone && !isDone }
    var isStanding: Bool { !request.triggers.isEmpty }
    var payload: String { Self.payload(number) }

    func hasExpired(at now: Timestamp) -> Bool { expiresAt.map { $0 <= now } ?? false }

    static func payload(_ number: Int) -> String { "{\"n\":\(number)}" }

    static func number(of task: StoredTask) -> Int { number(in: task.request.payload) }

    static func number(in payload: String?) -> Int { Int((payload ?? "").filter(\.isNumber)) ?? 0 }

    /// Whether a run that ended so counts: for the interval, and for failures.
    mutating func end(_ result: TaskResult?, _ expiration: ExpirationReason?, at now: Moment) {
        launch = nil
        ended = now
        isToExpire = false
        let isPutOff =
            result == .deferred || result == nil && expiration == nil
            || result == nil && expiration == .requirement && request.returnsAfterExpiration
        if isPutOff {
            deferrals += 1
            returnsAsAsked = returnsAsAsked || beganAsAsked
            return
        }
        if isContinued { return isDone = true }
        isForgiven = false
        returnsAsAsked = false
        deferrals = 0
        // One that is not to come again after a requirement was lost has had its run.
        let isWell = result == .success || result == .noData || expiration == .requirement
        failures = isWell ? 0 : failures + 1
        if isWell { firedAt = nil }
        if isWell, request.repetition == nil, !isStanding { isDone = true }
    }

    /// The last run counts for the interval.
    var counts: Bool { ended != nil && deferrals == 0 }
}

extension SimTask: CustomStringConvertible {
    var description: String {
        func said(_ moment: Moment?) -> String {
            moment.map { "\(Double($0.monotonic.nanoseconds / 1_000_000) / 1000)" } ?? "never"
        }
        let what = key.isWakeUp ? "wake-up" : "task"
        return "\(what) \(number) (\(key.identifier) of \(key.host), submitted \(said(submitted)),"
            + " begun \(said(begun)), ended \(said(ended)), fired \(said(firedAt)), failures"
            + " \(failures), deferrals \(deferrals), every"
            + " \(request.repetition.map { "\($0.interval)-\($0.slack)" } ?? "-"),"
            + " requires \(request.requirements.names), on \(request.triggers),"
            + " carried by \(launch?.rawValue ?? 0))"
    }
}
