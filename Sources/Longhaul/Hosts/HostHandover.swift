internal import LonghaulCore
package import LonghaulEngine
package import LonghaulStore
internal import LonghaulPlatform

/// Events that are read at once when they are handed to a host.
private let handoverEventsPerRead = 200

/// Items that a launch hands over, and the process that gets them.
package struct HostHandover {
    let queue: TransferQueue
    let order: LaunchOrder

    package init(queue: TransferQueue, order: LaunchOrder) {
        self.queue = queue
        self.order = order
    }

    /// On the thread of the hosts. The process waits to be let go.
    func make(_ loop: HostsLoop) -> HostReport {
        do {
            let input = try HostInput(in: loop.home)
            // The command of a job reads nothing.
            let gathered =
                try order.program.isJob ? gather(append: { _ in }) : gather(append: input.append)
            guard let gathered else { return .nothingToDo(order.id) }
            var program = HostExecutable(
                argv: order.program.argv, environment: gathered.environment,
                maxMemory: order.program.maxMemory)
            if let job = order.program.job {
                let environment = gathered.environment
                guard let supervisor = JobSupervisor.program(environment: environment) else {
                    throw LonghaulError(
                        .unavailable,
                        "the program longhaul, which runs the commands of jobs, is neither beside "
                            + "the program of this engine nor in PATH: install it")
                }
                program.job = JobProgram(
                    name: order.host, directory: job.directory, nice: job.nice,
                    grace: job.graceSeconds, supervisor: supervisor)
            }
            let process = try loop.make(
                order.id.rawValue, program, input: input,
                marks: HostEnvironment.marks(order.id, queue.directory))
            return .prepared(
                PreparedLaunch(
                    id: order.id, handover: gathered.handover,
                    process: LaunchedProcess(
                        pid: process.pid, startTicks: Int64(clamping: process.startTicks),
                        bootID: BootID.current?.text ?? "")))
        } catch let error as SystemFailure {
            return .notPrepared(order.id, message: error.longhaulError().message)
        } catch {
            return .notPrepared(
                order.id, message: (error as? LonghaulError)?.message ?? "\(error)")
        }
    }

    /// Prepares a launch for a process that runs by itself, which reads it when it has begun.
    func make(for resident: StoredResident) -> HostReport {
        do {
            guard let gathered = try gather(append: { _ in }) else { return .nothingToDo(order.id) }
            return .prepared(
                PreparedLaunch(
                    id: order.id, handover: gathered.handover, process: resident.process))
        } catch {
            return .notPrepared(
                order.id, message: (error as? LonghaulError)?.message ?? "\(error)")
        }
    }

    /// The handover to record for the launch, and the variables of its process.
    package struct Gathered {
        package var handover: Handover
        package var environment: [String: String]
    }

    /// - Parameter append: Takes the lines of its standard input.
    /// - Returns: `nil`: nothing waits any more.
    package func gather(append: ([UInt8]) throws -> Void) throws -> Gathered? {
        try gather(
            try queue.store.tasks.waiting(order.tasks), deadline: queue.now + order.budget,
            append: append)
    }

    /// - Parameter range: The events of a launch that has begun; `nil` = all waiting ones.
    func gather(
        _ tasks: [StoredTask], within range: ClosedRange<Int64>? = nil, deadline: Timestamp,
        append: ([UInt8]) throws -> Void
    ) throws -> Gathered? {
        var handover = Handover(session: nil, reason: order.reason, events: nil, count: 0)
        if let session = order.session,
            let events = try appendEvents(of: session, within: range, append: append)
        {
            handover = events
        }
        // A continued task has no time limit while it reports progress.
        let isContinued = tasks.contains { $0.kind == .continued }
        let deadline = isContinued ? nil : deadline
        for task in tasks { try append(line(task, deadline: deadline)) }
        handover.tasks = tasks.map(\.id)
        if handover.session == nil, tasks.isEmpty { return nil }
        return Gathered(
            handover: handover,
            environment: HostEnvironment.all(
                order, handover, tasks, queue.directory, deadline: deadline))
    }

    /// `nil`: no event waits any more.
    private func appendEvents(
        of session: String, within range: ClosedRange<Int64>?, append: ([UInt8]) throws -> Void
    ) throws -> Handover? {
        var reader = try HandoverReader(
            queue.store, session: session, within: range, limit: Limits.eventsPerLaunch,
            now: queue.now)
        for need in reader.needs {
            try append(line(need.transfer, isDelayed: need.isDelayed))
        }
        while true {
            let events = try reader.next(page: handoverEventsPerRead, now: queue.now)
            if events.isEmpty { break }
            var text = JSONText(reservingBytes: events.count * 1024)
            for event in events {
                text.value(
                    EventRecord(event.event, transfer: event.transfer),
                    as: EventRecord.fieldsForHost)
                text.endLine()
            }
            try append(text.bytes)
        }
        return reader.handover
    }

    private func line(_ task: StoredTask, deadline: Timestamp?) -> [UInt8] {
        let request = task.request
        var text = JSONText()
        text.object {
            if task.kind == .wakeUp {
                $0.field("type", "wake")
                $0.field("identifier", request.identifier.isEmpty ? nil : request.identifier)
            } else {
                $0.field("type", "task")
                $0.field("identifier", request.identifier)
                $0.field("kind", request.kind.rawValue)
                if let continued = request.continued {
                    $0.field("title", continued.title)
                    $0.field("subtitle", continued.subtitle)
                }
                if let fired = task.trigger {
                    $0.field("trigger") {
                        $0.field("event", fired.events[fired.events.count - 1].trigger.event)
                        $0.field("at", fired.at)
                        $0.field("events", fired.events)
                    }
                } else {
                    $0.field("trigger", json: nil)
                }
                $0.field("attempt", task.timing.failures + 1)
                $0.field("deadline", deadline)
            }
            $0.field("payload", json: request.payload)
        }
        text.endLine()
        return text.bytes
    }

    private func line(_ transfer: Transfer, isDelayed: Bool) -> [UInt8] {
        var text = JSONText()
        text.object {
            $0.field("type", "input")
            $0.field("reason", isDelayed ? "delayedRequest" : "expired")
            $0.field("transfer", HostTransfer(transfer: transfer))
        }
        text.endLine()
        return text.bytes
    }
}

/// The variables of a host.
enum HostEnvironment {
    /// The engine's own variables, without those about a launch (an engine may itself run in one),
    /// followed by the variables of this launch.
    static func all(
        _ order: LaunchOrder, _ handover: Handover, _ tasks: [StoredTask], _ directory: String,
        deadline: Timestamp?
    ) -> [String: String] {
        if let job = order.program.job { return all(order, job, tasks, directory) }
        var variables = Environment.all()
        for name in ["LONGHAUL_SESSION", "LONGHAUL_TASK", "LONGHAUL_CONDITIONS"] {
            variables[name] = nil
        }
        if variables["PATH"] == nil { variables["PATH"] = "/usr/local/bin:/usr/bin:/bin" }
        variables["LONGHAUL_HOME"] = directory
        variables["LONGHAUL_HOST"] = order.host
        variables["LONGHAUL_LAUNCH_ID"] = "\(order.id.rawValue)"
        variables["LONGHAUL_LAUNCH_REASON"] = order.reason.rawValue
        variables["LONGHAUL_SESSION"] = handover.session
        let names = tasks.filter { $0.kind != .wakeUp }.map(\.request.identifier)
        if !names.isEmpty { variables["LONGHAUL_TASK"] = names.joined(separator: ",") }
        variables["LONGHAUL_DEADLINE"] = deadline.map { RFC3339.format($0) }
        return variables
    }

    /// The variables of the command that made the job, and what this run is.
    private static func all(
        _ order: LaunchOrder, _ job: JobSettings, _ tasks: [StoredTask], _ directory: String
    ) -> [String: String] {
        var variables = job.environment
        for name in ["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"] where variables[name] == nil {
            variables[name] = Environment.value(name) ?? job.loginVariables?[name]
        }
        if variables["PATH"] == nil { variables["PATH"] = "/usr/local/bin:/usr/bin:/bin" }
        variables["LONGHAUL_HOME"] = directory
        variables["LONGHAUL_LAUNCH_ID"] = "\(order.id.rawValue)"
        variables["LONGHAUL_JOB"] = order.host
        variables["LONGHAUL_RUN"] = "\(order.id.rawValue)"
        let triggers = tasks.first?.trigger?.triggers.map(\.rawValue) ?? []
        if let reason = tasks.first?.reason {
            variables["LONGHAUL_REASON"] = reason.text(triggers: triggers)
        }
        return variables
    }

    /// Variables that identify the processes of a launch, wherever they have gone.
    static func marks(_ id: LaunchID, _ directory: String) -> [String] {
        ["LONGHAUL_HOME=\(directory)", "LONGHAUL_LAUNCH_ID=\(id.rawValue)"]
    }
}
