internal import CLonghaul
internal import Glibc
internal import LonghaulModel

/// The power supplies in sysfs, with the kernel's notifications of changes.
final class SysfsPower {
    static let source = "sysfs"

    /// `nil` = sysfs is not there.
    private(set) var facts: PowerFacts?
    private(set) var hasBattery = false

    /// Changes are notified; otherwise the supplies have to be polled.
    let isTold: Bool

    /// When the next poll is due.
    private(set) var due: Instant?

    private let directory: String
    private let events: Descriptor?

    /// - Parameters:
    ///   - sysfs: where sysfs is mounted.
    ///   - hears: whether the kernel's device events reach this process.
    init(sysfs: String, hears: Bool) {
        directory = sysfs + "/class/power_supply"
        let socket = lh_uevent_watch()
        // A sandbox may forbid it.
        events = socket < 0 ? nil : Descriptor(owning: socket)
        isTold = hears && events != nil
        refresh()
    }

    var descriptor: Int32? { events?.number }

    /// The descriptor is readable.
    func receive() {
        // The sender is the kernel or root, and the message only causes a read.
        if let events, lh_uevent_watch_take(events.number, "power_supply") != 0 { refresh() }
    }

    /// Polls where changes are not notified. The first poll is one interval away: the present
    /// values were read when this object was made, or at a notification.
    ///
    /// - Parameter pause: `nil` = no polling.
    func sample(_ now: Instant, everySeconds pause: Double?) {
        guard let pause else {
            due = nil
            return
        }
        let isDue = due.map { now >= $0 } ?? false
        if isDue { refresh() }
        // An interval shorter than before counts from now.
        if isDue || due.map({ $0 > now + pause }) ?? true { due = now + pause }
    }

    func refresh() {
        guard let names = directoryNames(directory) else {
            // A machine without sysfs has no values; one without supplies has an empty directory.
            facts = nil
            hasBattery = false
            return
        }
        let supplies = names.compactMap { Self.supply("\(directory)/\($0)") }
        facts = PowerFacts(supplies)
        hasBattery = supplies.contains { $0.kind == .battery }
    }

    // MARK: -

    /// `nil` for a supply that does not feed this machine.
    private static func supply(_ path: String) -> PowerSupply? {
        func value(_ name: String) -> String? {
            (try? smallFile("\(path)/\(name)")).map { $0.filter { $0 != "\n" } }
        }
        func number(_ name: String) -> Int64? { value(name).flatMap { Int64($0) } }

        // `Device` is the scope of the battery of a mouse or a headset.
        if value("scope") == "Device" { return nil }
        switch value("type") {
        case "Battery":
            if value("present") == "0" { return nil }
            var battery = PowerSupply(.battery)
            battery.status = value("status").flatMap { PowerSupply.Status(rawValue: $0) }
            battery.capacity = number("capacity").map { Int(clamping: $0) }
            battery.size = number("energy_full") ?? number("charge_full")
            return battery
        case "UPS":
            var supply = PowerSupply(.ups)
            supply.status = value("status").flatMap { PowerSupply.Status(rawValue: $0) }
            return supply
        case nil: return nil
        case .some:
            var outside = PowerSupply(.external)
            // 1 = fixed, 2 = programmable; 0 = not plugged in.
            outside.isOnline = number("online").map { $0 > 0 } ?? false
            return outside
        }
    }
}
