/// logind's idle lock: while it is held, a machine that nobody uses does not go to sleep. Closing
/// its descriptor gives it back, and so does the end of the process.
final class IdleLock {
    /// Why the machine is to stay awake; `nil` = it need not.
    var reason: String?

    private var lock: Descriptor?
    /// Asked for once: logind refuses it to users without a session at the machine, unless polkit
    /// is told otherwise.
    private var hasAsked = false

    func adjust(_ bus: BusConnection, _ call: BusConnection.Call) {
        guard let reason else { return drop() }
        if hasAsked { return }
        hasAsked = true
        var call = call
        call.texts = ["idle", "Longhaul", reason, "block"]
        // If the call fails, the connection is about to end.
        try? bus.call(call) { [unowned self] reply in
            guard hasAsked else { return }
            lock = reply.errorName == nil ? reply.descriptor() : nil
        }
    }

    func drop() {
        lock = nil
        hasAsked = false
    }
}
