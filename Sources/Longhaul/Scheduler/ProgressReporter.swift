internal import LonghaulCore
internal import Synchronization

/// Sends the progress of one continued task to the engine: at once after a pause, and otherwise the
/// newest each second.
final class ProgressReporter: Sendable {
    typealias Send = @Sendable (ProgressReport) async -> Void

    private struct State {
        var progress = TaskProgress()
        var work = ContinuedWork(title: "")
        /// What is not sent yet.
        var waiting: ProgressReport?
        var isSending = false
    }

    private let send: Send
    private let simulated: SimulatedLaunch?
    private let identifier: String
    private let state = Mutex(State())

    init(_ task: BackgroundLaunch.HandedTask, send: @escaping Send) {
        self.send = send
        identifier = task.identifier
        simulated = SimulatedLaunch.current
        state.withLock {
            $0.work = ContinuedWork(title: task.title ?? "", subtitle: task.subtitle)
        }
    }

    var progress: TaskProgress { state.withLock { $0.progress } }
    var work: ContinuedWork { state.withLock { $0.work } }

    func report(_ progress: TaskProgress) {
        state.withLock { $0.progress = progress }
        report(ProgressReport(progress))
    }

    func report(title: String, subtitle: String?) {
        let report = ProgressReport(title: title, subtitle: subtitle ?? "")
        if !report.isValid { return }
        state.withLock {
            $0.work.title = title
            $0.work.subtitle = subtitle
        }
        self.report(report)
    }

    private func report(_ report: ProgressReport) {
        if !report.isValid { return }
        // Virtual time passes while a program waits: it is told at once.
        if let simulated { return simulated.report(report, of: identifier) }
        let begins = state.withLock { state in
            state.waiting = state.waiting?.followed(by: report) ?? report
            if state.isSending { return false }
            state.isSending = true
            return true
        }
        if begins { Task { await sendAll() } }
    }

    private func sendAll() async {
        while let next = next() {
            await send(next)
            try? await Task.sleep(for: .seconds(Limits.progressRecordSeconds))
        }
    }

    private func next() -> ProgressReport? {
        state.withLock { state in
            defer { state.waiting = nil }
            if state.waiting == nil { state.isSending = false }
            return state.waiting
        }
    }
}
