internal import LonghaulCore
internal import LonghaulEngine
internal import LonghaulPlatform
internal import Synchronization

/// Least time between two reports of the number of transfers to the service manager.
private let serviceStatusSeconds: Double = 2

/// Tells the service manager how the engine does (sd_notify(3)).
///
/// Signs of life come from the engine's own thread, after a turn, and only when the manager asked
/// for them: half of its time after the last one at the latest, and with a turn that comes anyway
/// after a quarter.
final class SystemdNotifier: ServiceNotifier {
    private struct State: Sendable {
        var isReady = false
        var aliveAt: Instant?
        var shown: Int?
        var shownAt: Instant?
        /// Shown in place of the engine's activity, since the user should read it.
        var complaint: String?
        /// The process stays and becomes another program: it does not stop.
        var isHandingOver = false
    }

    private let notification: ServiceNotification
    private let state = Mutex(State())

    /// `nil` = no service manager listens.
    init?(environment: [String: String]) {
        guard let notification = ServiceNotification(environment: environment) else { return nil }
        self.notification = notification
    }

    func standsBy() {
        notification.send([.status("Standing by: another engine runs")])
    }

    func isReady(now: Instant) {
        state.withLock { state in
            state.isReady = true
            state.aliveAt = now
        }
        notification.send([.ready])
    }

    func turned(active: Int, now: Instant) -> Instant? {
        state.withLock { state in
            sendStatus(active, &state, now: now)
            guard let seconds = notification.watchdogSeconds, let last = state.aliveAt else {
                return nil
            }
            if now < last + seconds / 4 { return last + seconds / 2 }
            state.aliveAt = now
            notification.send([.alive])
            return now + seconds / 2
        }
    }

    /// Tells not every step of what comes and goes quickly, but always that nothing is left.
    private func sendStatus(_ active: Int, _ state: inout State, now: Instant) {
        guard active != state.shown else { return }
        if active > 0, let last = state.shownAt, now < last + serviceStatusSeconds { return }
        state.shown = active
        state.shownAt = now
        if state.complaint == nil { notification.send([.status(Self.text(active))]) }
    }

    private static func text(_ active: Int) -> String {
        switch active {
        case 0: "Nothing to transfer now"
        case 1: "1 transfer runs"
        default: "\(active) transfers run"
        }
    }

    /// The configuration is being read again.
    func isReloading() {
        if state.withLock({ $0.isReady }) { notification.send([.reloading]) }
    }

    func isAdjusted() {
        let active = state.withLock { state in
            state.complaint = nil
            return state.shown ?? 0
        }
        notification.send([.ready, .status(Self.text(active))])
    }

    /// The configuration stays as it was.
    func isNotAdjusted(_ why: String) {
        let isReady = state.withLock { state in
            state.complaint = why
            return state.isReady
        }
        notification.send((isReady ? [.ready] : []) + [.status(why)])
    }

    /// Another program takes the place of this one in the process, and says when it is ready.
    func isHandingOver() {
        let isReady = state.withLock { state in
            state.isHandingOver = true
            return state.isReady
        }
        notification.send((isReady ? [.reloading] : []) + [.status("Handing over")])
    }

    /// The handover failed; the present program continues.
    func isNotHandedOver(_ why: String) {
        state.withLock { state in
            state.isHandingOver = false
            state.complaint = why
        }
        notification.send([.status(why)])
    }

    func isLeaving() {
        if state.withLock({ $0.isHandingOver }) { return }
        notification.send([.stopping, .status("Saving everything")])
    }
}
