import Longhaul
import LonghaulPlatform

/// Output is written when this much is buffered.
private let consoleFlushBytes = 64 << 10

/// The output of a command: results go to one stream, messages about them to the other.
///
/// Both are buffered; call ``flushBeforeWait()`` before waiting. If the reader has gone
/// (`longhaul list | head`), writing throws ``Closed``, which ends the command quietly.
final class Console {
    struct Closed: Error {}

    let isJSON: Bool
    let isQuiet: Bool
    /// True if results are shown on a terminal, which must not obey control characters in a path; a
    /// program needs the path unchanged.
    let isTerminal: Bool
    let results: ByteStream
    let diagnostics: ByteStream
    private var json = JSONText(reservingBytes: 1024)

    init(
        results: ByteStream, diagnostics: ByteStream, isJSON: Bool = false, isQuiet: Bool = false,
        isTerminal: Bool = true
    ) {
        self.results = results
        self.diagnostics = diagnostics
        self.isJSON = isJSON
        self.isQuiet = isQuiet
        self.isTerminal = isTerminal
    }

    /// Prints a result for users. Text from outside must have passed through `TerminalText`.
    func line(_ text: String) throws {
        try results.write(text.utf8)
        try results.write(CollectionOfOne(UInt8(ascii: "\n")))
    }

    /// Prints a path as a result, after a text that says whose path it is.
    func line(_ start: String = "", path: String) throws {
        try line(start + (isTerminal ? TerminalText.shown(path) : path))
    }

    /// Prints a result as one line of JSON.
    func line(json write: (inout JSONText) -> Void) throws {
        json.clear()
        write(&json)
        json.endLine()
        try results.write(json.bytes)
    }

    /// Prints a message that is no result. If it cannot be written, it is lost: no other place is
    /// left to report it.
    func say(_ text: String) {
        if isQuiet { return }
        complain(text)
    }

    /// Serves a process that exits although its engine hangs; from any thread.
    static func sayHanging() {
        let console = Console.standard(isJSON: false)
        console.complain(
            "longhaul: a disk does not answer; left without it; its bytes are found again")
        try? console.flush()
    }

    /// Prints an engine's failure; called from the engine's thread.
    static func sayFailure(_ failure: EngineFailure) {
        Console.standard(isJSON: false).complain("longhaul: " + failure.text)
    }

    /// The same, but shown even with `--quiet`.
    func complain(_ text: String) {
        try? results.flush()
        try? diagnostics.write(text.utf8)
        try? diagnostics.write(CollectionOfOne(UInt8(ascii: "\n")))
        try? diagnostics.flush()
    }

    /// Reports an error, as a sentence or as an object among the results, which scripts read.
    func refuse(_ error: LonghaulError, line number: Int? = nil) throws {
        // If the results cannot be written, the error goes to the messages.
        if isJSON, !results.isClosed { return try line { $0.refusal(error, line: number) } }
        let place = number.map { "line \($0): " } ?? error.transferPlace
        complain("longhaul: " + place + TerminalText.shown(Redaction.text(error.message)))
    }

    func flush() throws {
        try results.flush()
        try diagnostics.flush()
    }

    /// Prints everything so far, as a command that follows others does before each wait.
    ///
    /// - Returns: The status to end with after Ctrl-C; `nil`: continue. Another signal ends the
    ///   process here.
    /// - Throws: ``Closed`` if the reader of the results has left.
    func flushBeforeWait() throws -> ExitStatus? {
        try flush()
        if CommandStream.hasNoReader(1) { throw Closed() }
        guard let signal = Signals.received else { return nil }
        if signal != Signals.interrupt { OwnProcess.end(by: signal) }
        return .interrupted
    }
}

extension LonghaulError {
    /// Names the transfer, unless the message does.
    fileprivate var transferPlace: String {
        guard let transferID, !message.contains("transfer \(transferID)") else { return "" }
        return "\(transferID): "
    }
}

/// A buffered stream of bytes to a file descriptor, or, for tests, to memory.
final class ByteStream {
    private let descriptor: Int32?
    private(set) var buffer: [UInt8] = []
    private(set) var isClosed = false

    /// `nil` keeps everything in ``buffer``.
    init(descriptor: Int32?) {
        self.descriptor = descriptor
    }

    func write(_ bytes: some Collection<UInt8>) throws {
        if isClosed { throw Console.Closed() }
        buffer += bytes
        if descriptor != nil, buffer.count >= consoleFlushBytes { try flush() }
    }

    func flush() throws {
        guard let descriptor, !buffer.isEmpty else { return }
        defer { buffer.removeAll(keepingCapacity: true) }
        do {
            try buffer.withUnsafeBytes { try CommandStream.writeAll(descriptor, $0) }
        } catch let failure as SystemFailure {
            isClosed = true
            if failure.isBrokenPipe { throw Console.Closed() }
            throw LonghaulError(.io, "the output cannot be written: \(failure.reason)")
        }
    }
}
