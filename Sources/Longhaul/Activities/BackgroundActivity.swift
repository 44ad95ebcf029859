public import LonghaulCore
internal import LonghaulPlatform

/// Default duration of an activity.
private let activitySeconds: Double = 30
/// A name is shown by logind in one line.
private let activityNameBytes = 200

/// Work of limited length that should not be cut off by sleep or shutdown: a message that is being
/// sent, a document that is being saved. The counterpart of UIKit's `beginBackgroundTask`.
///
/// While an activity lives, this process holds one delay lock of logind (`sleep:shutdown`), however
/// many activities there are: logind then waits before the machine sleeps or shuts down, 5 seconds
/// unless `InhibitDelayMaxSec` in logind.conf(5) says otherwise. Work may go on for most of that
/// time. The expiration handlers run one second before its end (at half of it where it is shorter
/// than two seconds), and the machine goes on when all activities have ended. Logging out is not
/// announced by logind, and nothing delays it.
///
/// An activity ends with ``end()``, when its handler has returned, or when the object is
/// deinitialised. The last two are for faults: an activity that outlives its budget or was let go
/// of is reported in the log.
///
/// After a crash nothing is held: the kernel closes the lock with the process's descriptors.
/// Activities are not recorded; work that has to survive the process is a transfer.
public final class BackgroundActivity: Sendable {
    /// The name of the work, as logind shows it (`systemd-inhibit --list`).
    public let name: String
    /// How many seconds the work may take.
    public let budget: Double

    /// The budget of an activity that says nothing else: 30 seconds.
    public static let defaultBudget: Double = activitySeconds

    /// The one in whose operation the Swift task runs.
    @TaskLocal static var current: BackgroundActivity?

    private let center: ActivityCenter
    private let number: Int

    init(
        _ name: String, budget: Double, in center: ActivityCenter,
        onExpiration: @escaping ActivityCenter.Handler
    ) throws(LonghaulError) {
        try Self.check(name, budget)
        self.name = name
        self.budget = budget
        self.center = center
        number = center.begin(name, budget: budget, onExpiration)
    }

    deinit {
        center.abandon(number)
    }

    /// Begins an activity. Returns at once, whether there is a logind or not, and before the lock
    /// is granted: see ``holdsSleepBack``.
    ///
    /// An activity that begins after the machine has announced its sleep shares what is left of the
    /// time of the others.
    ///
    /// - Parameters:
    ///   - name: what the work is, in a few words: `send message`. Activities of the same name are
    ///     different ones.
    ///   - budget: seconds that the work may take, more than 0 and at most a day. The clock goes on
    ///     while the machine sleeps.
    ///   - onExpiration: called once when the time is over, by the budget or because the machine is
    ///     about to sleep or shut down; not after ``end()``. The activity ends when it returns, at
    ///     the latest five seconds later. It runs as a separate Swift task.
    /// - Returns: the activity, to be kept until ``end()``.
    /// - Throws: `invalidRequest` for a name that is empty, longer than 200 bytes or has control
    ///   characters, and for a budget out of bounds. A missing logind is no error.
    public static func begin(
        _ name: String, budget: Double = defaultBudget,
        onExpiration: @escaping @Sendable () async -> Void = {}
    ) throws(LonghaulError) -> BackgroundActivity {
        try BackgroundActivity(name, budget: budget, in: .shared, onExpiration: onExpiration)
    }

    /// Ends the activity: with the last one of the process the lock is given back. May be called
    /// from any thread; a second call does nothing.
    public func end() {
        center.end(number)
    }

    /// Seconds until the activity expires: the rest of its budget, or of logind's patience once
    /// the machine is about to sleep or shut down. 0 when it has expired or ended.
    public var remainingTime: Double { center.remainingTime(of: number) }

    /// Seconds that are left to the ``withBackgroundActivity(_:budget:_:onExpiration:)`` around the
    /// caller, in whose operation its Swift task runs; `nil` outside of one.
    public static var remainingTime: Double? { current?.remainingTime }

    /// True if sleep and shutdown now wait for this process's activities.
    ///
    /// `true` as soon as logind has granted the lock, some milliseconds after the
    /// first activity has begun. It stays `false` where there is no system bus or no logind, or it
    /// does not answer: activities work all the same, and the machine does not wait for them. That
    /// is also said once in the log, at the level `notice`.
    public static var holdsSleepBack: Bool { ActivityCenter.shared.holdsSleepBack }

    private static func check(_ name: String, _ budget: Double) throws(LonghaulError) {
        if name.isEmpty || name.utf8.count > activityNameBytes
            || name.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
        {
            throw LonghaulError(
                .invalidRequest,
                "an activity's name has 1 to \(activityNameBytes) bytes, none of them a"
                    + " control character")
        }
        guard budget > 0, budget <= Limits.activitySecondsMaximum else {
            throw LonghaulError(
                .invalidRequest, "an activity's budget is more than 0 seconds and at most a day")
        }
    }
}

/// Runs work of limited length as a ``BackgroundActivity``, which ends with it.
///
/// When its time is over, by the budget or because the machine is about to sleep or shut down,
/// `onExpiration` is called and then the operation's Swift task is cancelled. The machine goes on
/// when the operation has returned. In the operation `BackgroundActivity.remainingTime` tells how
/// long it has. Where there is no logind it runs all the same.
///
/// ```swift
/// let sent = try await withBackgroundActivity("send message") {
///     try await session.data(for: request)
/// } onExpiration: {
///     // Say that it will be sent later.
/// }
/// ```
///
/// - Parameters:
///   - name: what the work is, as logind shows it.
///   - budget: seconds that the work may take, more than 0 and at most a day.
///   - operation: the work, a separate Swift task, which is cancelled with the caller's.
///   - onExpiration: called once when the time is over, before the cancellation.
/// - Returns: the result of the operation, after an expiration, too.
/// - Throws: what the operation throws; `LonghaulError` `invalidRequest` for a name or a budget
///   that ``BackgroundActivity/begin(_:budget:onExpiration:)`` refuses; `CancellationError` where
///   the task was cancelled before the operation began.
public func withBackgroundActivity<Result: Sendable>(
    _ name: String, budget: Double = BackgroundActivity.defaultBudget,
    _ operation: @escaping @Sendable () async throws -> Result,
    onExpiration: @escaping @Sendable () async -> Void = {}
) async throws -> Result {
    try await ActivityCenter.shared.run(
        name, budget: budget, operation, onExpiration: onExpiration)
}
