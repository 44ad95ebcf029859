internal import FoundationEssentials
internal import LonghaulCore
internal import LonghaulPlatform

/// The content of one launch, handled at the same time.
struct HostRun {
    private let launch: BackgroundLaunch
    private let handlers: HostHandlers
    private let tasks: [BackgroundTask]
    private let tell: Tell

    /// Tells the result of a task.
    typealias Tell = @Sendable (TaskResult, _ task: String) async -> Void

    /// Tells the progress of a continued task.
    typealias Report = @Sendable (ProgressReport, _ task: String) async -> Void

    init(
        _ launch: BackgroundLaunch, _ handlers: HostHandlers,
        tell: @escaping Tell = HostRun.tellEngine,
        report: @escaping Report = HostRun.reportProgress
    ) {
        self.launch = launch
        self.handlers = handlers
        self.tell = tell
        tasks = launch.tasks.map { task in
            BackgroundTask(task, of: launch) { await report($0, task.identifier) }
        }
    }

    /// - Returns: Whether all was handled; a task that has reported a result was, also a failure.
    func perform() async throws(LonghaulError) -> Bool {
        let work = Task { await handleAll() }
        let expire: @Sendable () -> Void = { self.expire(work) }
        if let simulated = SimulatedLaunch.current {
            simulated.trap(expire)
            return await work.value
        }
        let trap: SignalTrap
        do throws(SystemFailure) {
            trap = try SignalTrap { _ in expire() }
        } catch {
            work.cancel()
            throw error.longhaulError()
        }
        defer { trap.stop() }
        return await work.value
    }

    func expire(_ work: Task<Bool, Never>) {
        // First: a handler that ends with an error from now on has expired.
        for task in tasks { task.expire() }
        work.cancel()
    }

    /// - Returns: See ``perform()``.
    func handleAll() async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            for task in tasks { group.addTask { await runHandler(of: task) } }
            for wakeUp in launch.wakeUps { group.addTask { await handleWakeUp(wakeUp) } }
            if let session = launch.session {
                group.addTask { await handleEvents(of: session) }
            }
            return await group.reduce(true) { $0 && $1 }
        }
    }

    private func runHandler(of task: BackgroundTask) async -> Bool {
        guard let handler = handlers.task(task.identifier) else {
            report("no handler is registered for the task \(task.identifier)")
            await tell(.failure, task.identifier)
            return true
        }
        do {
            try await handler(task)
            await tell(.success, task.identifier)
        } catch is BackgroundTask.Deferred {
            await tell(.deferred, task.identifier)
        } catch is BackgroundTask.NoData {
            await tell(.noData, task.identifier)
        } catch {
            // The engine knows why it has expired, and what becomes of it. A program that takes
            // nothing more gives it back.
            if task.hasExpired || Task.isCancelled { return false }
            report("the task \(task.identifier) failed: \(error)")
            await tell(.failure, task.identifier)
        }
        return true
    }

    private func handleWakeUp(_ wakeUp: BackgroundLaunch.HandedWakeUp) async -> Bool {
        let name = wakeUp.identifier.map { "the wake-up \($0)" } ?? "a wake-up"
        guard let handler = handlers.wakeUps[wakeUp.identifier ?? ""] else {
            report("no handler is registered for \(name)")
            return false
        }
        do {
            try await handler(wakeUp.payload)
            return true
        } catch {
            report("\(name) failed: \(error)")
            return false
        }
    }

    private func handleEvents(of identifier: String) async -> Bool {
        guard let handler = handlers.sessions[identifier] else {
            report("no handler is registered for the session \(identifier)")
            return false
        }
        let events = launch.events
        var configuration = BackgroundSession.Configuration()
        configuration.engine = .external
        configuration.store = launch.store
        do {
            let session = try await BackgroundSession(
                identifier: identifier, configuration: configuration)
            var failure: (any Error)?
            do {
                try await handler(session, events)
                if let last = events.last { try await session.acknowledge(through: last.sequence) }
            } catch {
                failure = error
            }
            try await session.invalidate()
            if let failure { throw failure }
            return true
        } catch {
            report("the events of the session \(identifier) were not handled: \(error)")
            return false
        }
    }

    /// At once, in one write: the lines of several tasks do not mix.
    @Sendable static func tellEngine(_ result: TaskResult, of task: String) {
        if let simulated = SimulatedLaunch.current {
            return simulated.report(result, of: task)
        }
        var text = JSONText()
        text.object {
            $0.field("task", task)
            $0.field("result", result.rawValue)
        }
        text.endLine()
        // The exit status stands for a result that cannot be reported.
        text.bytes.withUnsafeBytes { try? CommandStream.writeAll(1, $0) }
    }

    /// At once, in one write. A report that cannot be written is followed by others.
    @Sendable static func reportProgress(_ report: ProgressReport, of task: String) {
        var text = JSONText()
        text.object {
            $0.field("task", task)
            if let progress = report.progress { $0.field("progress", progress) }
            if let title = report.title { $0.field("title", title) }
            if let subtitle = report.subtitle { $0.field("subtitle", subtitle) }
        }
        text.endLine()
        text.bytes.withUnsafeBytes { try? CommandStream.writeAll(1, $0) }
    }

    private func report(_ problem: String) {
        StandardError.write("longhaul: \(problem)\n")
    }
}
