import ArgumentParser
import Longhaul
import LonghaulPlatform

struct Cat: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "cat",
        abstract: "Write the bytes of a download to standard output in order, as they arrive.",
        discussion: """
            To a player, a decompressor or another program. The transfer fetches in order while \
            it is read, and runs now, despite its other waits; the machine does not go to sleep \
            meanwhile. It continues when the reader leaves. With no engine one is started, as by \
            `enqueue`. A paused transfer gives its bytes, and waits; a failed one is not tried \
            again.

              longhaul cat 12 | mpv -
              longhaul cat 12 | tar -xz

            The status is 0 only if all of a complete file was written. It is 1, without a \
            message, if the reader left, and 1 if the transfer failed or the server changed the \
            file: bytes of another version are never written.

            \(ExitStatus.help(endings))
            """)

    private static let endings: [ExitStatus] = [
        .done, .transferFailed, .noSuchTransfer, .usage, .storeUnavailable, .interrupted,
    ]

    @Argument(help: "The transfer's id.", completion: Candidates.ids)
    var id: TransferID

    @Option(help: ArgumentHelp("Begin at this byte, counted from 0.", valueName: "byte"))
    var from: Int64 = 0

    @OptionGroup var start: StartOptions

    /// The output is the transfer's.
    var output: OutputOptions {
        var output = OutputOptions()
        output.json = false
        return output
    }

    func validate() throws {
        if from < 0 { throw ValidationError("--from takes 0 and more") }
    }

    func perform(on console: Console) throws -> ExitStatus {
        let isStarted = try start.isWanted()
        let queue = try TransferQueue()
        Signals.watch()
        let stream = try DownloadStream(id, from: from, in: queue)
        var wait = StreamWait(id: id, queue: queue, console: console)
        let ending = try StreamOutput(stream: stream, queue: queue).run {
            Signals.received != nil
        } whileWaiting: {
            try wait.check(stream) {
                if isStarted { start.start(queue, on: console) }
            }
        }
        stream.close()
        switch ending {
        case .whole: return .done
        case .readerLeft: return .transferFailed
        case .failed(let error):
            try console.refuse(error)
            return .transferFailed
        case .stopped:
            if let signal = Signals.received, signal != Signals.interrupt {
                OwnProcess.end(by: signal)
            }
            return .interrupted
        }
    }
}

/// The wait of `cat` while its transfer brings nothing.
private struct StreamWait {
    let id: TransferID
    let queue: TransferQueue
    let console: Console
    private var said: String?

    init(id: TransferID, queue: TransferQueue, console: Console) {
        self.id = id
        self.queue = queue
        self.console = console
    }

    /// Prints the wait reasons once, and starts an engine if none runs.
    mutating func check(_ stream: DownloadStream, startEngine: () -> Void) throws {
        guard let transfer = try queue.transfer(id), !transfer.state.hasEnded else { return }
        if transfer.state == .paused {
            return say("it is paused and waits; resume with: longhaul resume \(id)")
        }
        if transfer.state == .waiting {
            try stream.hasten()
            if !queue.isEngineRunning { startEngine() }
        }
        let waits = try queue.transfer(id)?.obstacles ?? []
        if waits.isEmpty { return }
        say("it waits: \(WaitText(time: .current()).all(waits))", as: reasons(waits))
    }

    private func reasons(_ waits: [WaitReason]) -> String {
        waits.map(\.reason.rawValue).joined(separator: " ")
    }

    private mutating func say(_ text: String, as subject: String = "paused") {
        if said == subject { return }
        said = subject
        console.say("longhaul: \(id): \(text)")
    }
}
