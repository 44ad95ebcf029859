public import LonghaulCore

/// The kind of process that is the engine: a service, a command, another program.
public enum EngineMode: String, Sendable, CaseIterable {
    /// `longhaul daemon`.
    case daemon
    /// `longhaul run`.
    case run
    /// `longhaul get`.
    case get
    /// A program that embeds the library.
    case embedded
    /// `longhaul daemon`, started by a command that needed an engine.
    case background
    /// `longhaul serve`.
    case serve
}

/// Limits of an engine, and when it leaves by itself.
public struct EngineOptions: Sendable {
    /// The kind of process; shown by `status`.
    public var mode: EngineMode
    /// Leave, checkpointed, after this many seconds.
    public var maxSeconds: Double?
    /// The rule for transfers that run at the end of that time and cannot be resumed; by default
    /// they wait for a longer time.
    public var unresumable = UnresumablePolicy.wait
    /// Leave, checkpointed, once this many body bytes were received.
    public var maxBytes: Int64?
    /// Leave when nothing is eligible or running (back-offs of up to a minute are waited out).
    public var untilDrained = false
    /// Leave when nothing has been left to do or to wait for during this many seconds.
    public var exitWhenIdle: Double?
    /// Leave when all of these have ended (`get`).
    public var until: [TransferID]?
    /// `true` = discretionary transfers alone, `false` = immediate ones alone; `nil` = all.
    public var onlyDiscretionary: Bool?
    /// When another process is the engine: wait until it ends, and take over.
    public var waitsForLease = false
    /// Called, on a separate thread, when the engine has not left ``leavingSeconds`` after it
    /// should have, because a disk does not answer. Ending the process then costs no byte, like
    /// `kill -9`.
    public var onOverdue: (@Sendable () -> Void)?
    /// Called, on the engine's thread, for each transfer, host and task that fails. It must return
    /// soon.
    public var onFailure: (@Sendable (EngineFailure) -> Void)?
    /// SIGUSR2 calls this on a separate thread. `true` = the engine checkpoints everything, gives
    /// up the lease, and executes the program installed now, with the same arguments and process
    /// id; `false` = the engine continues. `nil` = the signal is not caught.
    package var onHandOver: (@Sendable () -> Bool)?
    /// A stream of pushes that sends nothing for this long is connected again.
    package var pushSilenceSeconds = Limits.pushSilenceSeconds
    /// Time for an engine to leave: half a minute.
    public static let leavingSeconds: Double = Limits.leavingSeconds
    /// Limits of concurrency and rate. Default: without a bound on the rate.
    public var limits = EngineLimits()

    /// An engine that works until it is stopped.
    public init(mode: EngineMode) {
        self.mode = mode
    }
}

/// The limits of an engine. They may be changed while it runs: see ``EngineRun/adjust(_:)``.
public struct EngineLimits: Hashable, Sendable {
    /// Transfers that move bytes at the same time, 1…64.
    public var running = Limits.runningTransfers
    /// Requests to one origin at the same time, 1…64, for every protocol; `nil` = 6 connections,
    /// and over HTTP/2 one connection with up to 64 streams.
    public var perOrigin: Int?
    /// Rate limits of all transfers together.
    public var rates = RatePlan()
    /// Retention of ended transfers.
    public var retention = Retention()

    /// The defaults.
    public init() {}

    /// The part of one machine in the bounds that all machines keep together at the servers.
    package func divided(for shard: Shard?) -> EngineLimits {
        guard let shard else { return self }
        var limits = self
        limits.perOrigin = shard.share(of: perOrigin ?? Limits.connectionsPerOrigin)
        limits.rates.bytesPerSecond = rates.bytesPerSecond.map(shard.share)
        for index in rates.parts.indices {
            limits.rates.parts[index].bytesPerSecond = rates.parts[index].bytesPerSecond
                .map(shard.share)
        }
        return limits
    }
}

/// The results of an engine by the time that it left.
public struct EngineSummary: Sendable {
    /// Why it left; `busy` = another process was the engine.
    public enum StoppedBy: String, Sendable {
        /// Nothing was left that could be done.
        case drained
        /// ``EngineOptions/maxSeconds`` were over.
        case maxTime
        /// ``EngineOptions/maxBytes`` were received.
        case maxBytes
        /// A signal, or ``EngineRun/stop()``.
        case signal
        /// Another process was the engine.
        case busy
    }

    /// Transfers that completed.
    public var completed: Int
    /// Transfers that failed.
    public var failed: Int
    /// Launches of hosts that failed, runs of jobs included.
    public var hostsFailed = 0
    /// Runs of jobs that failed.
    public var jobsFailed = 0
    /// Transfers that have not ended.
    public var left: Int
    /// Body bytes received.
    public var bytes: Int64
    /// Seconds that it held the lease.
    public var seconds: Double
    /// Why it left.
    public var stoppedBy: StoppedBy
}
