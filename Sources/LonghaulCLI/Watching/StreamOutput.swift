import Longhaul
import LonghaulPlatform

/// Bytes that are passed on at a time.
private let streamBytes = 1 << 20
/// Between two looks for more bytes while a transfer moves: the first, and the most; the time
/// doubles while none come. A commit ends the wait, too.
private let streamPauseSeconds = (first: 0.001, most: 0.05)
/// Between two looks at a transfer that does not move, and at the engine.
private let streamWaitSeconds: Double = 1

/// Passes the bytes of a transfer on to the standard output as they come.
struct StreamOutput {
    enum Ending {
        /// All bytes of a file that has completed were written.
        case whole
        /// The other end of the pipe was closed.
        case readerLeft
        /// The command was asked to stop.
        case stopped
        case failed(LonghaulError)
    }

    let stream: DownloadStream
    let queue: TransferQueue

    /// Returns when no more bytes come or are wanted. Memory is bounded: bytes that a slow reader
    /// has not taken stay in the file.
    ///
    /// - Parameters:
    ///   - isStopped: Looked at between two pieces, and when a signal has ended a write.
    ///   - wait: Called about once a second while there are no bytes.
    func run(until isStopped: () -> Bool, whileWaiting wait: () throws -> Void) throws -> Ending {
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: streamBytes, alignment: 4096)
        defer { buffer.deallocate() }
        let changes = StoreChanges(of: queue)
        var pause = streamPauseSeconds.first
        var nextLook = SystemClock.now().monotonic
        while true {
            if isStopped() { return .stopped }
            switch try stream.next(into: buffer) {
            case .bytes(let count):
                pause = streamPauseSeconds.first
                do throws(SystemFailure) {
                    try CommandStream.writeAll(
                        1, UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                } catch {
                    if error.isBrokenPipe { return .readerLeft }
                    if isStopped() { return .stopped }
                    throw LonghaulError(.io, "the output cannot be written: \(error.reason)")
                }
            case .waits(let isMoving):
                if CommandStream.hasNoReader(1) { return .readerLeft }
                let now = SystemClock.now().monotonic
                if now >= nextLook {
                    try wait()
                    nextLook = now + streamWaitSeconds
                }
                changes.wait(timeout: isMoving ? pause : streamWaitSeconds)
                pause = min(2 * pause, streamPauseSeconds.most)
            case .whole: return .whole
            case .ended(let error): return .failed(error)
            }
        }
    }
}
