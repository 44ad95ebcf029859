internal import CLonghaul
internal import Synchronization

/// The way from any thread to the loop: commands in order, and a wake-up of `curl_multi_poll`.
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

    /// False after ``close()``: the command goes nowhere.
    @discardableResult
    func send(_ command: TransportCommand) -> Bool {
        state.withLock { state in
            guard let multi = state.multi else { return false }
            state.commands.append(command)
            // Whoever finds the inbox filled knows that the loop has been woken and has not looked
            // yet.
            if state.commands.count == 1 { curl_multi_wakeup(multi.pointer) }
            return true
        }
    }

    func take(into commands: inout [TransportCommand]) {
        state.withLock { swap(&$0.commands, &commands) }
    }

    var isClosed: Bool { state.withLock { $0.multi == nil } }

    /// Before the multi handle is freed.
    func close() {
        state.withLock { state in
            state.multi = nil
            state.commands = []
        }
    }
}

/// A `CURLM`, to be handed to the thread that owns it and to those that wake it.
struct MultiHandle: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer
}
