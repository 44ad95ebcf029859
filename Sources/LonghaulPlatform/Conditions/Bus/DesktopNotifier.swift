internal import Glibc
internal import LonghaulModel
private import Synchronization

/// Time for the desktop to show a notification.
private let notificationSeconds: Double = 5
/// Characters of a notification's text.
private let notificationCharacters = 300

/// Shows notifications on the desktop of the user, by the service `org.freedesktop.Notifications`
/// of the session bus (Desktop Notifications Specification 1.2). Without a bus or a desktop they
/// are lost, which is no error.
package final class DesktopNotifier: Sendable {
    package struct Notification: Hashable, Sendable {
        /// One line.
        package var title: String
        package var text: String
        /// It takes the place of an earlier one with the same tag; `nil` = of none.
        package var tag: String?

        package init(title: String, text: String, tag: String? = nil) {
            self.title = title
            self.text = text
            self.tag = tag
        }
    }

    private struct State {
        var waiting: [Notification] = []
        /// Numbers that the desktop has given, by tag.
        var shown: [String: UInt32] = [:]
        /// Present while notifications wait, or one is being shown.
        var thread: SystemThread?
    }

    private let address: String?
    private let state = Mutex(State())

    /// - Parameter address: The session bus in D-Bus syntax; `nil` = there is none.
    package init(address: String?) {
        self.address = address
    }

    /// The address of the session bus, found as in every D-Bus program: also by a program that cron
    /// has started while the user is logged in.
    package static func sessionBus(_ environment: [String: String]) -> String? {
        if let address = environment["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty {
            return address
        }
        let directory = environment["XDG_RUNTIME_DIR"].flatMap { $0.isEmpty ? nil : $0 }
        let socket = (directory ?? "/run/user/\(getuid())") + "/bus"
        return access(socket, F_OK) == 0 ? "unix:path=\(socket)" : nil
    }

    /// Returns at once; the notification is shown by another thread.
    package func show(_ notification: Notification) {
        guard address != nil else { return }
        state.withLock { state in
            if let tag = notification.tag { state.waiting.removeAll { $0.tag == tag } }
            state.waiting.append(notification)
            if state.thread != nil { return }
            state.thread = try? SystemThread(name: "longhaul-notify") { [self] in showAll() }
        }
    }

    /// Waits until everything is shown or given up, some seconds at most: before the process ends.
    package func finish() {
        state.withLock { $0.thread }?.join()
    }

    private func showAll() {
        var bus: BusConnection?
        while let next = next() {
            do throws(SystemFailure) {
                if bus == nil { bus = try BusConnection(address: address ?? "") }
                let replaced = next.tag.flatMap { tag in state.withLock { $0.shown[tag] } }
                guard let bus else { continue }
                let number = try DesktopNotifier.show(next, replacing: replaced ?? 0, on: bus)
                if let tag = next.tag { state.withLock { $0.shown[tag] = number } }
            } catch {
                // The others would wait for the same.
                state.withLock { $0.waiting = [] }
            }
        }
    }

    private func next() -> Notification? {
        state.withLock { state in
            if state.waiting.isEmpty {
                state.thread = nil
                return nil
            }
            return state.waiting.removeFirst()
        }
    }

    /// - Returns: The number by which another one may replace it; `nil` = none was given.
    private static func show(
        _ notification: Notification, replacing replaced: UInt32, on bus: BusConnection
    ) throws(SystemFailure) -> UInt32? {
        var call = BusConnection.Call(
            destination: "org.freedesktop.Notifications", path: "/org/freedesktop/Notifications",
            interface: "org.freedesktop.Notifications", member: "Notify")
        call.startsService = true
        call.seconds = notificationSeconds
        // Name of the program, replaced notification, icon, title, text, actions, hints, and how
        // long it is shown, as the desktop likes.
        call.arguments = [
            .text("Longhaul"), .number(replaced), .text(""), .text(notification.title),
            .text(markup(notification.text)), .empty("s"), .empty("{sv}"), .signed(-1),
        ]
        var isAnswered = false
        var number: UInt32?
        try bus.call(call) { reply in
            isAnswered = true
            number = reply.number()
        }
        let end = SystemClock.now().monotonic + notificationSeconds
        while true {
            try bus.process()
            let left = end - SystemClock.now().monotonic
            if isAnswered || left <= 0 { return number }
            var polled = pollfd(fd: bus.descriptor, events: bus.events, revents: 0)
            _ = poll(&polled, 1, Int32((min(left, bus.patience ?? left) * 1_000).rounded(.up)))
        }
    }

    /// Texts may contain markup; ours has none.
    private static func markup(_ text: String) -> String {
        String(text.prefix(notificationCharacters))
            .replacing("&", with: "&amp;").replacing("<", with: "&lt;")
            .replacing(">", with: "&gt;")
    }
}
