internal import LonghaulCore
internal import LonghaulEngine
internal import LonghaulStore
internal import LonghaulSystem

/// What a launch hands over, and the process that it is handed to.
struct HostHandover {
    let queue: TransferQueue
    let order: LaunchOrder

    private static let page = 200

    /// On the thread of the hosts. The process waits to be let go.
    func make(_ loop: HostsLoop) -> HostReport {
        do {
            let input = try HostInput(in: loop.home)
            let needs = try queue.store.inputNeeds(of: order.session, now: queue.now)
            for need in needs { try input.append(line(need.transfer, isDelayed: need.isDelayed)) }
            var first: Int64?
            var last: Int64 = 0
            var count = 0
            while count < Limits.eventsPerLaunch {
                let events = try queue.events(
                    after: last, session: order.session, waitingOnly: true, limit: Self.page)
                guard let end = events.last else { break }
                var text = JSONText(reservingBytes: events.count * 1024)
                for event in events {
                    text.loggedEvent(event)
                    text.endLine()
                }
                try input.append(text.bytes)
                first = first ?? events.first?.sequence
                last = end.sequence
                count += events.count
            }
            guard let first else { return .nothingToDo(order.id) }
            let deadline = queue.now + order.budget
            let process = try loop.make(
                order.id.rawValue,
                HostProgram(
                    argv: order.argv,
                    environment: HostEnvironment.all(order, queue.directory, deadline: deadline)),
                input: input, marks: HostEnvironment.marks(order.id, queue.directory))
            return .prepared(
                PreparedLaunch(
                    id: order.id,
                    handover: Handover(
                        session: order.session,
                        reason: needs.isEmpty ? .sessionEvents : .inputNeeded,
                        events: first...last, count: count),
                    process: LaunchedProcess(
                        pid: process.pid, startTicks: Int64(clamping: process.startTicks),
                        bootID: BootID.current.map { "\($0)" } ?? ""),
                    deadline: deadline))
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
