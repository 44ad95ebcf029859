internal import Logging
internal import LonghaulCore
internal import LonghaulSystem
internal import ServiceLifecycle
internal import Synchronization
internal import UnixSignals

extension EngineRun {
    /// Runs under a `ServiceGroup`: SIGTERM, and SIGINT where `onInterrupt` is not given,
    /// checkpoint everything and leave.
    public func runUntilSignalled(onInterrupt: (@Sendable () -> Void)? = nil) async throws
        -> EngineSummary
    {
        let service = EngineService(run: self)
        var logger = Logger(label: "longhaul")
        // The command reports for itself; the group speaks only of what goes wrong.
        logger.logLevel = .error
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    .init(service: service, successTerminationBehavior: .gracefullyShutdownGroup)
                ],
                gracefulShutdownSignals: onInterrupt == nil ? [.sigterm, .sigint] : [.sigterm],
                logger: logger))
        try await group.run()
        return try service.summary()
    }
}

/// The engine as a service: its blocking loop on a thread of its own.
private final class EngineService: Service {
    private let run: EngineRun
    private let outcome = Mutex<Result<EngineSummary, LonghaulError>?>(nil)

    init(run: EngineRun) {
        self.run = run
    }

    func run() async throws {
        let result = await withGracefulShutdownHandler {
            await withCheckedContinuation { continuation in
                DetachedThread.start(name: "longhaul-engine") { [run] in
                    continuation.resume(
                        returning: Result { () throws(LonghaulError) in try run.run() })
                }
            }
        } onGracefulShutdown: { [run] in
            run.stop()
        }
        outcome.withLock { $0 = result }
    }

    func summary() throws(LonghaulError) -> EngineSummary {
        guard let result = outcome.withLock({ $0 }) else {
            throw LonghaulError(.internal, "the engine ended without a word")
        }
        return try result.get()
    }
}
