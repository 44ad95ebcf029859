internal import CLonghaul
internal import LonghaulModel
internal import Synchronization

/// Passes commands from any thread to the loop, in order, and wakes `curl_multi_poll`.
///
/// The multi handle may be woken from any thread, but only while it lives: both happen under the
/// lock.
final class TransportInbox: Sendable {
    private struct State {
        var commands: [TransportCommand] = []
        var multi: MultiHandle?
    }

    private let state: Mutex<State>

    init(multi: MultiHandle) {
        state = Mutex(State(multi: multi))
    }

    /// Returns false after ``close()``: the command is dropped.
    @discardableResult
    func send(_ command: TransportCommand) -> Bool {
        state.withLock { state in
            guard let multi = state.multi else { return false }
            state.commands.append(command)
            // If the inbox was not empty, the loop has been woken and has not read it yet.
            if state.commands.count == 1 { curl_multi_wakeup(multi.pointer) }
            return true
        }
    }

    func drain(into commands: inout [TransportCommand]) {
        state.withLock { swap(&$0.commands, &commands) }
    }

    var isClosed: Bool { state.withLock { $0.multi == nil } }

    /// To be called before the multi handle is freed.
    func close() {
        state.withLock { state in
            state.multi = nil
            state.commands = []
        }
    }
}

/// A `CURLM`, shared by its owner thread and the threads that wake it.
struct MultiHandle: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer
}

/// The callers' commands to the loop, in order.
enum TransportCommand: Sendable {
    case start([SegmentRequest])
    case proceed(SegmentKey, BodyPlan)
    case shrink(SegmentKey, end: Int64)
    case stop([SegmentKey])
    case withdraw([SegmentKey])
    case leaveConnections(suspecting: [SegmentKey])
    case totalRate(Int64?)
    case rate(SegmentKey, Int64?)
    case limitsPerOrigin(SchedulerLimits)
    case shutdown
}
