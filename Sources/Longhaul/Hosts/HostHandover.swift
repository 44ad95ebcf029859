internal import LonghaulCore
internal import LonghaulEngine
internal import LonghaulStore
internal import LonghaulPlatform

/// What a launch hands over, and the process that it is handed to.
struct HostHandover {
    let queue: TransferQueue
    let order: LaunchOrder

    /// On the thread of the hosts. The process waits to be let go.
    func make(_ loop: HostsLoop) -> HostReport {
        do {
            let input = try HostInput(in: loop.home)
            var reader = try HandoverReader(
                queue.store, session: order.session, limit: Limits.eventsPerLaunch, now: queue.now)
            for need in reader.needs {
                try input.append(line(need.transfer, isDelayed: need.isDelayed))
            }
            while true {
                let events = try reader.next(page: Limits.handoverEventsPerRead, now: queue.now)
                if events.isEmpty { break }
                var text = JSONText(reservingBytes: events.count * 1024)
                for event in events {
                    text.loggedEvent(EventRecord(event.event, transfer: event.transfer))
                    text.endLine()
                }
                try input.append(text.bytes)
            }
            guard let handover = reader.handover else { return .nothingToDo(order.id) }
            let deadline = queue.now + order.budget
            let process = try loop.make(
                order.id.rawValue,
                HostProgram(
                    argv: order.argv,
                    environment: HostEnvironment.all(order, queue.directory, deadline: deadline)),
                input: input, marks: HostEnvironment.marks(order.id, queue.directory))
            return .prepared(
                PreparedLaunch(
                    id: order.id, handover: handover,
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

    private func line(_ transfer: Transfer, isDelayed: Bool) -> [UInt8] {
        var text = JSONText()
        text.object {
            $0.field("type", "input")
            $0.field("reason", isDelayed ? "delayedRequest" : "expired")
            $0.field("transfer") { $0.transferFields(transfer) }
        }
        text.endLine()
        return text.bytes
    }
}

/// The variables of a host.
enum HostEnvironment {
    /// Of the engine's own those that are not about a launch, which it may itself have been made
    /// by; then what this launch is.
    static func all(
        _ order: LaunchOrder, _ directory: String, deadline: Timestamp
    ) -> [String: String] {
        var variables = Environment.all()
        for name in ["LONGHAUL_SESSION", "LONGHAUL_TASK", "LONGHAUL_CONDITIONS"] {
            variables[name] = nil
        }
        if variables["PATH"] == nil { variables["PATH"] = "/usr/local/bin:/usr/bin:/bin" }
        variables["LONGHAUL_HOME"] = directory
        variables["LONGHAUL_HOST"] = order.host
        variables["LONGHAUL_LAUNCH_ID"] = "\(order.id.rawValue)"
        variables["LONGHAUL_LAUNCH_REASON"] = order.reason.rawValue
        variables["LONGHAUL_SESSION"] = order.session
        variables["LONGHAUL_DEADLINE"] = RFC3339.format(deadline)
        return variables
    }

    /// By which the processes of a launch are known, wherever they have gone.
    static func marks(_ id: LaunchID, _ directory: String) -> [String] {
        ["LONGHAUL_HOME=\(directory)", "LONGHAUL_LAUNCH_ID=\(id.rawValue)"]
    }
}
