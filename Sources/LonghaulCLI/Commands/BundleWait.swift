import Longhaul
import LonghaulPlatform

/// Waits for bundles while an engine works on them: the one that runs, or else one in this process.
struct BundleWait {
    static let endings: [ExitStatus] = [
        .done, .transferFailed, .noSuchTransfer, .refused, .usage, .storeUnavailable, .interrupted,
    ]

    private let queue: TransferQueue
    private let names: [String]
    private let seconds: Double?
    var limits = EngineLimits()
    /// Only the version is asked for.
    var isCheck = false
    var printsResults = true

    /// - Parameter seconds: The longest wait; `nil` = without a bound.
    init(_ queue: TransferQueue, _ names: [String], seconds: Double?) {
        self.queue = queue
        self.names = names
        self.seconds = seconds
    }

    private enum Ending {
        case done, timedOut
        case signalled(Int32)
    }

    func perform(on console: Console) throws -> ExitStatus {
        let engine = OwnEngine(queue, limits)
        defer { engine.leave() }
        let display = ProgressDisplay.standard(console, count: Limits.watchedPerRead)
        let ending = try wait(engine, display, console)
        display.clear()
        switch ending {
        case .done: return try printResults(on: console)
        case .timedOut:
            console.complain("longhaul: the time is over")
            return .timedOut
        case .signalled(Signals.hangUp):
            engine.leave()
            StartOptions.startAfterHangUp(queue, on: console)
        case .signalled(let signal):
            if signal != Signals.interrupt {
                engine.leave()
                OwnProcess.end(by: signal)
            }
            for name in try underWay().map(\.name) {
                try Bundles(queue).pause(name)
                console.complain(
                    "longhaul: \(name) is paused; resume with: longhaul bundle resume \(name)")
            }
            return .interrupted
        }
    }

    private func underWay() throws -> [BundleRecord] {
        try names.map { try Bundles(queue).find($0) }.filter(\.isUnderWay)
    }

    private func wait(
        _ engine: OwnEngine, _ display: ProgressDisplay, _ console: Console
    ) throws -> Ending {
        let changes = StoreChanges(of: queue)
        let end = seconds.map { SystemClock.now().monotonic + $0 }
        while true {
            if let signal = Signals.received { return .signalled(signal) }
            if Signals.takeSuspension() {
                engine.leave()
                display.clear()
                OwnProcess.suspend()
            }
            let left = try underWay()
            if left.isEmpty { return .done }
            let now = SystemClock.now().monotonic
            if let end, now >= end { return .timedOut }
            if display.isDue(at: now) { display.show(left) }
            try engine.startIfNoneRuns()
            try console.flush()
            changes.wait(timeout: min(display.tickSeconds, end.map { $0 - now } ?? .infinity))
        }
    }

    private func printResults(on console: Console) throws -> ExitStatus {
        var status = ExitStatus.done
        for name in names {
            let bundle = try Bundles(queue).find(name)
            let failure = isCheck ? bundle.error : bundle.failure
            if let failure {
                status = failure.code == .invalidManifest ? .refused : .transferFailed
                if !console.isJSON { try console.refuse(failure) }
            }
            if console.isJSON {
                try console.line { json in
                    if isCheck {
                        json.value(BundleVersions(bundle))
                    } else {
                        json.value(bundle)
                    }
                }
            } else if isCheck, failure == nil {
                try console.line(BundleText(time: .current()).versions(bundle))
            } else if printsResults, failure == nil {
                try console.line(path: try Bundles(queue).path(name, file: nil))
            }
        }
        return status
    }
}

extension BundleRecord {
    /// Why it is not whole.
    var failure: LonghaulError? {
        if let error { return error }
        if version != nil { return nil }
        return LonghaulError(.cancelled, "the bundle \(name) was cancelled")
    }
}

extension ProgressDisplay {
    /// Shows the transfers of bundles that move, and how much is left.
    func show(_ bundles: [BundleRecord]) {
        let running = bundles.flatMap(\.running).filter { $0.state == .running }
        var totals = ProgressView.Totals()
        totals.running = running.count
        totals.rate = running.reduce(0) { $0 + ($1.bytesPerSecond ?? 0) }
        totals.total = 0
        for bundle in bundles {
            let files = bundle.files
            totals.completed += files.complete
            totals.failed += files.failed
            totals.waiting += max(0, files.total - files.complete - files.failed)
            totals.done = totals.done.addingClamped(bundle.bytesDone)
            totals.total = totals.total?.addingClamped(bundle.bytesTotal ?? 0)
        }
        totals.waiting = max(0, totals.waiting - totals.running)
        show(running, totals)
    }
}

/// An engine in this process for as long as no other one runs.
final class OwnEngine {
    private let queue: TransferQueue
    private let limits: EngineLimits
    private var thread: EngineThread?

    init(_ queue: TransferQueue, _ limits: EngineLimits) {
        self.queue = queue
        self.limits = limits
    }

    /// - Throws: the failure of an engine that ran here.
    func startIfNoneRuns() throws {
        if let thread {
            if !thread.hasEnded { return }
            self.thread = nil
            if let failure = thread.failure { throw failure }
        }
        if queue.isEngineRunning { return }
        var options = EngineOptions(mode: .get)
        options.limits = limits
        let thread = EngineThread(EngineRun(queue: queue, options: options)) {}
        self.thread = thread
        thread.start()
    }

    /// Lets it checkpoint everything and leave.
    func leave() {
        thread?.leave(within: EngineOptions.leavingSeconds)
        thread = nil
    }
}

/// `get SOURCE`: the bundle of that source and directory, until it is whole.
struct BundleGet {
    let source: String
    let files: BundleFileOptions
    let request: RequestOptions
    let limits: EngineLimits
    let defaults: TransferDefaults

    func perform(on console: Console) throws -> ExitStatus {
        let context = InputContext.current()
        let queue = try TransferQueue()
        let name = try add(context, in: queue)
        Signals.watch()
        Signals.watchSuspension()
        _ = try Bundles(queue).want(name, latest: true)
        var wait = BundleWait(queue, [name], seconds: nil)
        wait.limits = limits
        return try wait.perform(on: console)
    }

    /// Returns its name.
    func add(_ context: InputContext, in queue: TransferQueue) throws -> String {
        if request.place.output != nil {
            throw LonghaulError.usage("-o names one file; for a set of files use -d DIR")
        }
        let template = try request.template(context, defaults)
        var new = try files.bundle(source, template.request, in: queue)
        if template.request.session != TransferRequest.defaultSession || request.owner.host != nil {
            throw LonghaulError.usage("a bundle has its own session; `bundle add --host` binds it")
        }
        new.settings.policy = template.request.isDiscretionary ? .prefetch : .essential
        if request.place.directory != nil { new.directory = template.directory }
        return try Bundles(queue).add(new, in: try context.directory.get())
    }
}

extension Console {
    /// Prints names of bundles, for programs whole records.
    func show(_ names: [String], in queue: TransferQueue) throws -> ExitStatus {
        for name in names {
            if isJSON {
                let bundle = try Bundles(queue).find(name)
                try line { $0.value(bundle) }
            } else {
                try line(TerminalText.shown(name))
            }
        }
        return .done
    }
}
