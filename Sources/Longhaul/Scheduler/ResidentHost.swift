internal import FoundationEssentials
internal import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulStore
internal import Synchronization

/// How soon a resident host reads a store again that could not be read.
private let residentRetrySeconds: Double = 1

/// A process of a host that runs by itself: what its host is handed comes to its handlers, one
/// launch after the other.
struct ResidentHost: Sendable {
    private let handlers: HostHandlers
    private let sharedStore: SharedStore
    private let resident: StoredResident
    private var executor: StoreExecutor { sharedStore.executor }

    /// Lets the engine hand launches to this process; ``serve()`` carries them out.
    static func enter(
        _ host: BackgroundHost, _ handlers: HostHandlers, store: String?
    ) async throws(LonghaulError) -> ResidentHost {
        let sharedStore = try await Blocking.run { () throws(LonghaulError) in
            try SharedStore.enter(store)
        }
        let directory = sharedStore.executor.directory
        do throws(LonghaulError) {
            let resident = try await sharedStore.executor.change { queue throws(LonghaulError) in
                let resident = try ResidentQueue(queue: queue).enter(host.identifier)
                SimulatedResidents.add(resident.id, in: directory) {
                    _ = try await host.runIfLaunched()
                }
                return resident
            }
            return ResidentHost(handlers: handlers, sharedStore: sharedStore, resident: resident)
        } catch {
            await sharedStore.leave()
            throw error
        }
    }

    /// Carries launches out until the Swift task is cancelled.
    func serve() async {
        var resident = resident
        let host = ProcessHost(name: resident.host, directory: executor.directory)
        host.enter()
        defer { host.leave() }
        while !Task.isCancelled {
            let edition = executor.edition
            do {
                let (known, launch) = try await next(resident)
                resident = known
                if let launch {
                    await carryOut(launch)
                } else {
                    try await executor.changed(since: edition)
                }
            } catch {
                await pause()
            }
        }
        let last = resident
        SimulatedResidents.remove(last.id, in: executor.directory)
        // The engine finds out where the store cannot be written: the time of the launch is over.
        try? await executor.change { queue throws(LonghaulError) in
            try ResidentQueue(queue: queue).leave(last)
        }
        await sharedStore.leave()
    }

    private func next(
        _ resident: StoredResident
    ) async throws(LonghaulError) -> (StoredResident, HandedLaunch?) {
        // The simulated world calls the program itself.
        if SimulatedResidents.isThere(resident.id, in: executor.directory) {
            return (resident, nil)
        }
        return try await executor.perform { context throws(LonghaulError) in
            var known = resident
            let launch = try ResidentQueue(queue: context.queue).handed(to: &known)
            return (known, launch)
        }
    }

    private func pause() async {
        try? await Task.sleep(for: .seconds(residentRetrySeconds))
    }

    // MARK: - A launch

    private func carryOut(_ handed: HandedLaunch) async {
        let id = handed.id
        guard
            let launch = BackgroundLaunch(
                environment: handed.environment, input: Data(handed.input))
        else {
            // Another process has acknowledged all of it.
            return await report(.ended(status: 0), of: id)
        }
        let run = HostRun(
            launch, handlers,
            tell: { result, task in await report(.result(task: task, result), of: id) },
            report: { progress, task in await self.report(progress, of: task, in: id) })
        let work = Task {
            await BackgroundLaunch.$handed.withValue(launch) { await run.handleAll() }
        }
        let watch = Task { await watchCourse(of: id) { run.expire(work) } }
        let isHandled = await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            work.cancel()
        }
        watch.cancel()
        // Work that was given up is given back.
        if isHandled || !Task.isCancelled {
            await report(.ended(status: isHandled ? 0 : 1), of: id)
        }
    }

    /// Returns when the launch is to end.
    private func watchCourse(of id: LaunchID, expire: () -> Void) async {
        while !Task.isCancelled {
            let edition = executor.edition
            do {
                let course = try await executor.perform { context throws(LonghaulError) in
                    try context.queue.store.residents.course(of: id)
                }
                if course != .goesOn { return expire() }
                try await executor.changed(since: edition)
            } catch {
                await pause()
            }
        }
    }

    /// A report that cannot be recorded is followed by others.
    private func report(_ progress: ProgressReport, of task: String, in id: LaunchID) async {
        _ = try? await executor.change { queue throws(LonghaulError) in
            try ResidentQueue(queue: queue).report(progress, of: task, in: id)
        }
    }

    /// Tries again while the store cannot be written.
    private func report(_ content: LaunchReport.Content, of id: LaunchID) async {
        while true {
            do throws(LonghaulError) {
                _ = try await executor.change { queue throws(LonghaulError) in
                    try ResidentQueue(queue: queue).report(
                        LaunchReport(launch: id, content: content))
                }
                return
            } catch {
                if Task.isCancelled || error.code == .sessionInvalidated { return }
                await pause()
            }
        }
    }
}
