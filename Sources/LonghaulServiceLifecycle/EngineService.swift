public import Longhaul
public import ServiceLifecycle

/// The engine of a store as a service of a `ServiceGroup`: transfers move while the service runs.
///
///     let group = ServiceGroup(
///         services: [EngineService(), server], gracefulShutdownSignals: [.sigterm],
///         logger: Logger(label: "mirror"))
///     try await group.run()
///
/// One process at a time is the engine of a store. While another process is, the service waits; it
/// takes over as soon as that one ends, however it ends.
///
/// The sessions of the program are opened with `configuration.engine = .external`: the service is
/// their engine. A session that is `.automatic` would be the engine itself, before the service
/// starts and after it has ended.
///
/// A group shuts its services down from the last to the first. The engine stands first, so that it
/// still runs while the others enqueue.
///
/// Transfers outlive the service. After a graceful shutdown, a crash or a power cut they continue
/// with the next engine, in this program or another one, from the bytes that are kept: all bytes
/// received before a graceful shutdown, all bytes written before a crash, and all but the last
/// checkpoint (8 MiB or 2 s) before a power cut.
public struct EngineService: Service {
    /// The state directory. `nil` = as for the command: `$LONGHAUL_HOME`, else
    /// `$XDG_STATE_HOME/longhaul`, else `~/.local/state/longhaul`.
    public var store: String?
    /// Limits of the engine. `nil` = from the user's configuration file.
    public var limits: EngineLimits?

    /// A service that opens the store when it is run, creating it if missing.
    public init(store: String? = nil, limits: EngineLimits? = nil) {
        self.store = store
        self.limits = limits
    }

    /// Is the engine until the group shuts down gracefully or the task is cancelled. Either ends
    /// the engine in order: running transfers are checkpointed and leave the wire, and the engine's
    /// place is free when this returns.
    ///
    /// The engine has its own threads and uses none of Swift's shared ones.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`; `invalidRequest` when `LONGHAUL_CONDITIONS` or
    ///   `LONGHAUL_LOG` is not understood; `io`, `permission` when a file of the engine cannot be
    ///   opened or no thread is left; `internal` when another process took the engine's place by
    ///   force. By default the group is cancelled then. The transfers stay in the store, with all
    ///   committed changes.
    public func run() async throws {
        let engine = EngineThread(store, limits: limits, retries: false)
        await withTaskCancellationOrGracefulShutdownHandler {
            engine.start()
            await engine.untilEnded()
        } onCancelOrGracefulShutdown: {
            engine.stop()
        }
        if let failure = engine.failure { throw failure }
    }
}
