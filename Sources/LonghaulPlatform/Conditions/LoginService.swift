/// logind: whether all users are away, and what the machine is about to do.
final class LoginService {
    static let source = "logind"

    let service: BusService
    /// Whether the machine is to wait for us before it sleeps or shuts down.
    var delaysMachine = false
    var onEvent: ((MachineEvent) -> Void)?

    private let manager: BusObject
    /// Held while nothing is announced; closing it lets the machine go on.
    private var lock: Descriptor?
    private var isAskingForLock = false
    /// Counts what makes a lock that is asked for useless.
    private var round = 0

    init() {
        manager = BusObject(
            service: Self.name, path: Self.path, interface: Self.interface)
        service = BusService(name: Self.name, objects: [manager])
        service.onAppear = { [unowned self] bus in listen(bus) }
        service.onVanish = { [unowned self] in dropLock() }
    }

    /// `nil` = logind is not there. With nobody logged in it says that the machine is idle.
    var isIdle: Bool? { manager.properties?["IdleHint"]?.flag }

    /// Takes or drops the lock, as ``delaysMachine`` asks. Without a lock events come all the same,
    /// only may the machine not wait for us.
    func adjust(_ bus: BusConnection) {
        guard delaysMachine else { return dropLock() }
        guard lock == nil, !isAskingForLock, manager.properties != nil else { return }
        isAskingForLock = true
        let asked = round
        var call = BusConnection.Call(
            destination: Self.name, path: Self.path, interface: Self.interface, member: "Inhibit")
        // logind allows delays to everybody, with a session or without (its polkit defaults).
        call.texts = ["sleep:shutdown", "Longhaul", "Transfers are saved", "delay"]
        // Should that fail, the connection is going.
        try? bus.call(call) { [unowned self] reply in
            guard asked == round else { return }
            // One that is refused is not asked for again before the next announcement.
            lock = reply.errorName == nil ? reply.descriptor() : nil
            if lock != nil { isAskingForLock = false }
        }
    }

    // MARK: -

    private static let name = "org.freedesktop.login1"
    private static let path = "/org/freedesktop/login1"
    private static let interface = "org.freedesktop.login1.Manager"

    private var isListening = false

    private func listen(_ bus: BusConnection) {
        if isListening { return }
        isListening = true
        for member in ["PrepareForSleep", "PrepareForShutdown"] {
            // Should that fail, the connection is going.
            try? bus.listen(
                """
                type='signal',sender='\(Self.name)',path='\(Self.path)',\
                interface='\(Self.interface)',member='\(member)'
                """
            ) { [unowned self, unowned bus] signal in
                guard let isComing = signal.flag() else { return }
                announce(member == "PrepareForSleep", isComing, bus)
            }
        }
    }

    private func announce(_ isSleep: Bool, _ isComing: Bool, _ bus: BusConnection) {
        if isComing {
            let permit = DelayPermit(lock)
            dropLock()
            // No new one before it is over: it would delay what is under way.
            isAskingForLock = true
            onEvent?(isSleep ? .willSleep(permit) : .willShutDown(permit))
        } else {
            isAskingForLock = false
            onEvent?(isSleep ? .didWake : .shutdownCancelled)
            adjust(bus)
        }
    }

    private func dropLock() {
        lock = nil
        isAskingForLock = false
        round += 1
    }

    /// The bus went away, and what was listened to on it with it.
    func detach() {
        isListening = false
        service.detach()
    }
}
