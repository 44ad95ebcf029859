internal import LonghaulModel

/// logind: whether all users are idle, and whether the machine is about to sleep or shut down.
final class LoginService {
    static let source = "logind"

    let service: BusService
    /// Why the machine is to wait for this process before it sleeps or shuts down; `nil` = it is
    /// not to wait.
    var delayReason: String?
    var onEvent: ((MachineEvent) -> Void)?
    let idleLock = IdleLock()

    private let manager: BusObject
    /// The delay lock, held while nothing is announced; closing it lets the machine go on.
    private var lock: Descriptor?
    private var lockReason: String?
    private var isAskingForLock = false
    private var isRefused = false
    /// Counts the events that make a requested lock useless.
    private var round = 0

    init() {
        manager = BusObject(
            service: Self.name, path: Self.path, interface: Self.interface)
        service = BusService(name: Self.name, objects: [manager])
        service.onAppear = { [unowned self] bus in listen(bus) }
        service.onVanish = { [unowned self] in
            dropLock()
            idleLock.drop()
        }
    }

    /// `nil` = logind is not running. Without a login it reports that the machine is idle.
    var isIdle: Bool? { manager.properties?["IdleHint"]?.flag }

    var delayLock: DelayLockState {
        if lock != nil { return .held }
        let isMissing = manager.isSettled && manager.properties == nil
        return isRefused || isMissing ? .unavailable : .pending
    }

    /// Takes or drops the lock, as ``delayReason`` asks. Events come without a lock as well; the
    /// machine may then not wait.
    func adjust(_ bus: BusConnection) {
        let inhibit = BusConnection.Call(
            destination: Self.name, path: Self.path, interface: Self.interface, member: "Inhibit")
        if manager.properties != nil { idleLock.adjust(bus, inhibit) }
        guard let delayReason else { return dropLock() }
        if lock != nil, lockReason != delayReason { dropLock() }
        guard lock == nil, !isAskingForLock, manager.properties != nil else { return }
        isAskingForLock = true
        lockReason = delayReason
        let requestRound = round
        var call = inhibit
        // logind's default polkit rules allow delays to every user, with a session or without.
        call.arguments = .texts("sleep:shutdown", "Longhaul", delayReason, "delay")
        // If the call fails, the connection is about to end.
        try? bus.call(call) { [unowned self] reply in
            guard requestRound == round else { return }
            // A refused lock is not requested again before the next announcement.
            lock = reply.errorName == nil ? reply.descriptor() : nil
            isRefused = lock == nil
            isAskingForLock = isRefused
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
            // If the call fails, the connection is about to end.
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
            let permit = DelayPermit(lock, seconds: lock == nil ? 0 : patience)
            dropLock()
            // A new lock before the end of the announced event would delay that event.
            isAskingForLock = true
            onEvent?(isSleep ? .willSleep(permit) : .willShutDown(permit))
        } else {
            isAskingForLock = false
            onEvent?(isSleep ? .didWake : .shutdownCancelled)
            adjust(bus)
        }
    }

    /// How long logind waits for the locks after an announcement.
    private var patience: Double {
        manager.properties?["InhibitDelayMaxUSec"]?.number.map { Double($0) / 1e6 }
            ?? Limits.delaySeconds
    }

    private func dropLock() {
        lock = nil
        isAskingForLock = false
        isRefused = false
        round += 1
    }

    /// The bus has gone, and its listeners with it.
    func detach() {
        idleLock.drop()
        isListening = false
        service.detach()
    }
}

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
        call.arguments = .texts("idle", "Longhaul", reason, "block")
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
