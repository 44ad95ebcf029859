import Longhaul
import LonghaulPlatform

/// The file of `--report`: a line for each transfer of a command when it ends, and at the end of
/// the command one for each that has not ended, and the summary.
///
/// A file without a summary is that of a command that was killed.
final class RunReport {
    /// The number of transfers with a line, by their state.
    private var counts: [TransferState: Int] = [:]
    /// Bytes of the files that are complete.
    private var bytes: Int64 = 0
    private let stream: ByteStream
    private let shard: Shard?
    private let begin = SystemClock.now().monotonic
    private var json = JSONText(reservingBytes: 1024)
    private var failure: (any Error)?

    init(_ path: String, _ shard: Shard?) throws(LonghaulError) {
        do {
            stream = ByteStream(descriptor: try CommandStream.create(path))
        } catch {
            throw .usage("\(TerminalText.shown(path)) cannot be written: \(error.reason)")
        }
        self.shard = shard
    }

    /// Writes a transfer's present record.
    func add(_ transfer: Transfer) {
        count(transfer.state, bytes: transfer.bytesDone)
        json.value(transfer, as: Transfer.listed)
        endLine()
    }

    /// Writes a request that has no transfer.
    ///
    /// - Parameter error: `nil` = its file was there already, and is kept.
    func add(_ request: TransferRequest, _ error: LonghaulError?) {
        let state: TransferState = error == nil ? .completed : .failed
        count(state, bytes: 0)
        json.object {
            $0.field("state", state.rawValue)
            $0.field("url", Redaction.url(request.url))
            if request.options.upload == nil {
                $0.field("destination", request.path)
            } else {
                $0.field("source", request.path)
            }
            if let error { $0.field("error", error) }
        }
        endLine()
    }

    /// Writes added lines to the file, so that they outlive the process.
    func flush() {
        do { try stream.flush() } catch { failure = failure ?? error }
    }

    /// Writes the summary.
    ///
    /// - Throws: The first error in writing the report.
    func finish() throws {
        json.object {
            $0.field("type", "summary")
            $0.field("shard", shard?.text)
            for state in TransferState.allCases where state.hasEnded {
                $0.field(named: state.rawValue, counts[state, default: 0])
            }
            $0.field("left", counts.filter { !$0.key.hasEnded }.values.reduce(0, +))
            $0.field("bytes", bytes)
            $0.field("seconds", SystemClock.now().monotonic - begin)
        }
        endLine()
        flush()
        if let failure { throw failure }
    }

    private func count(_ state: TransferState, bytes: Int64) {
        counts[state, default: 0] += 1
        if state == .completed { self.bytes = self.bytes.addingClamped(bytes) }
    }

    private func endLine() {
        json.endLine()
        do { try stream.write(json.bytes) } catch { failure = failure ?? error }
        json.clear()
    }
}
