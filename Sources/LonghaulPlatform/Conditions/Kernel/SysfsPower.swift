internal import CLonghaul
internal import Glibc
internal import LonghaulCore

/// The power supplies in sysfs, with the kernel's word when one of them changes.
final class SysfsPower {
    static let source = "sysfs"

    /// `nil` = sysfs is not there.
    private(set) var facts: PowerFacts?
    private(set) var hasBattery = false

    /// Whether changes show by themselves; else somebody must look now and then.
    let isTold: Bool

    /// When it is to be looked at again by itself.
    private(set) var due: Instant?

    private let directory: String
    private let events: Descriptor?

    /// - Parameters:
    ///   - sysfs: where sysfs is mounted.
    ///   - hears: whether the kernel's word about devices gets here.
    init(sysfs: String, hears: Bool) {
        directory = sysfs + "/class/power_supply"
        let socket = lh_uevent_watch()
        // A sandbox may forbid it.
        events = socket < 0 ? nil : Descriptor(owning: socket)
        isTold = hears && events != nil
        look()
    }

    var descriptor: Int32? { events?.number }

    /// The descriptor is readable.
    func receive() {
        // Whoever sends there is the kernel or root, and it is but a hint to look.
        if let events, lh_uevent_watch_take(events.number, "power_supply") != 0 { look() }
    }

    /// Looks now and then where nothing tells of a change. The first such look is a pause away:
    /// what is here was read when somebody began to ask, or when a change was told.
    ///
    /// - Parameter pause: `nil` = need not be looked at.
    func sample(_ now: Instant, everySeconds pause: Double?) {
        guard let pause else {
            due = nil
            return
        }
        let isDue = due.map { now >= $0 } ?? false
        if isDue { look() }
        // A shorter pause than before counts from now.
        if isDue || due.map({ $0 > now + pause }) ?? true { due = now + pause }
    }

    func look() {
        guard let names = directoryNames(directory) else {
            // A machine without sysfs says nothing; one without supplies has the directory.
            facts = nil
            hasBattery = false
            return
        }
        let supplies = names.compactMap { Self.supply("\(directory)/\($0)") }
        facts = PowerFacts(supplies)
        hasBattery = supplies.contains { $0.kind == .battery }
    }

    // MARK: -

    /// `nil` for what does not feed this machine.
    private static func supply(_ path: String) -> PowerSupply? {
        func value(_ name: String) -> String? {
            (try? smallFile("\(path)/\(name)")).map { $0.filter { $0 != "\n" } }
        }
        func number(_ name: String) -> Int64? { value(name).flatMap { Int64($0) } }

        // `Device` is that of a mouse or a headset.
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
            // 1 = fixed, 2 = programmable; 0 = nothing plugged in.
            outside.isOnline = number("online").map { $0 > 0 } ?? false
            return outside
        }
    }
}
