import Longhaul
import LonghaulPlatform
import Synchronization

/// `get -o -`: one transfer whose bytes go to the standard output as they come. Its file is beside
/// the store, and goes when the stream ends, however it ends.
struct StreamedGet {
    private let request: RequestOptions
    private let url: String

    init(_ request: RequestOptions, url: String) {
        self.request = request
        self.url = url
    }

    func perform(on console: Console) throws -> ExitStatus {
        if CommandStream.wasClosed(1) {
            throw LonghaulError(.io, "the standard output is closed: the bytes would be lost")
        }
        let configuration = try ConfigurationFile.read()
        let queue = try TransferQueue()
        try? StreamedTransfers(queue).sweepReaders()
        let wanted = try wanted(at: StreamedTransfers(queue).newPath(), configuration.defaults)
        // The file that the next lines make must not stay.
        Signals.watch()
        Signals.watchSuspension()
        guard case .recorded(let id, destination: _)? = try queue.enqueue([wanted]).first else {
            throw LonghaulError(.internal, "the stream is another command's")
        }
        let thread = StreamThread(id, in: queue)
        let display = ProgressDisplay.standard(console, count: 1)
        let foreground = try ForegroundWatch(
            [id], in: queue, limits: configuration.limits, display: display)
        let watching = Result { () throws -> Int32? in
            try thread.start()
            if case .signalled(let signal) = try foreground.run(until: { thread.hasEnded }) {
                return signal
            }
            // A slow reader takes the rest from the file.
            return thread.wait()
        }
        thread.stop()
        discard(id, queue)
        if let signal = try watching.get() {
            thread.settle()
            // The thread may wait for a reader.
            try? console.flush()
            if signal != Signals.interrupt { OwnProcess.end(by: signal) }
            OwnProcess.exitNow(ExitStatus.interrupted.rawValue)
        }
        let status = try thread.status(console)
        if foreground.isHanging { OwnProcess.exitNow(status.rawValue) }
        return status
    }

    private func wanted(
        at path: String, _ defaults: TransferDefaults
    ) throws -> TransferRequest {
        var options = request
        options.place.output = path
        let context = InputContext.current()
        let template = try options.template(context, defaults)
        guard
            var wanted = try BatchInput(
                urls: [url], lines: nil, template: template, context: context
            ).next()
        else { throw LonghaulError.usage("a URL is needed") }
        wanted.options.onDuplicate = .separate
        wanted.options.failOnFullDisk = true
        if CommandStream.isTerminal(2) { wanted.giveUpUnreached() }
        return wanted
    }

    /// If another engine does not answer in time, the next one or the next reader finishes it.
    private func discard(_ id: TransferID, _ queue: TransferQueue) {
        if (try? StreamedTransfers(queue).discard(id)) ?? false { return }
        if !queue.isEngineRunning { try? queue.settle() }
        try? PendingCancels.wait(for: [id], in: queue)
        _ = try? StreamedTransfers(queue).discard(id)
    }
}

/// Passes the bytes on while the main thread may be the engine's and watches for signals.
private final class StreamThread: Sendable {
    private let id: TransferID
    private let queue: TransferQueue
    private let ending = Mutex<Result<StreamOutput.Ending, any Error>?>(nil)
    private let isStopped = Atomic(false)

    init(_ id: TransferID, in queue: TransferQueue) {
        self.id = id
        self.queue = queue
    }

    func start() throws {
        do throws(SystemFailure) {
            _ = try SystemThread(name: "longhaul-stream") { [self] in
                let result = Result { try passOn() }
                ending.withLock { $0 = result }
            }
        } catch {
            throw LonghaulError(.io, "no thread can be had: \(error.reason)", retryable: true)
        }
    }

    private func passOn() throws -> StreamOutput.Ending {
        let stream = try DownloadStream(id, in: queue)
        defer { stream.close() }
        return try StreamOutput(stream: stream, queue: queue).run {
            isStopped.load(ordering: .relaxed)
        } whileWaiting: {
            try stream.hasten()
        }
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }

    var hasEnded: Bool { ending.withLock { $0 != nil } }

    /// Returns when it has ended, or the signal that came before.
    func wait() -> Int32? {
        while !hasEnded {
            if let signal = Signals.received { return signal }
            if Signals.takeSuspension() { OwnProcess.suspend() }
            ThreadSleep.seconds(Limits.blindPollSeconds)
        }
        return nil
    }

    /// Waits a second at most, so that the reader's row is removed.
    func settle() {
        for _ in 0..<Int(1 / Limits.blindPollSeconds) where !hasEnded {
            ThreadSleep.seconds(Limits.blindPollSeconds)
        }
    }

    func status(_ console: Console) throws -> ExitStatus {
        guard let result = ending.withLock({ $0 }) else { return .internalError }
        switch try result.get() {
        case .whole: return .done
        case .readerLeft, .stopped: return .transferFailed
        case .failed(let error):
            try console.refuse(error)
            return .transferFailed
        }
    }
}
