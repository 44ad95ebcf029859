private import Synchronization

/// What the machine is about to do, told while it waits for us.
package enum MachineEvent: Sendable {
    /// Save everything, then release the permit: logind waits for it, five seconds unless it is
    /// configured otherwise (InhibitDelayMaxSec in logind.conf(5)).
    case willSleep(DelayPermit)
    case didWake
    case willShutDown(DelayPermit)
    /// The shutdown that was announced does not come.
    case shutdownCancelled
}

/// Keeps the machine from going on with what it announced until it is released, or let go of.
package final class DelayPermit: Sendable {
    private let lock: Mutex<Descriptor?>

    init(_ lock: Descriptor?) {
        self.lock = Mutex(lock)
    }

    /// The machine may go on. From any thread; the second time it does nothing.
    package func release() {
        lock.withLock { $0 = nil }
    }
}
