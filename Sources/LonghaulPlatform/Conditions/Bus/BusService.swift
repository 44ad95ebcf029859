internal import LonghaulModel
/// A service by its well-known name, with its watched objects. It may start and stop at any time.
final class BusService {
    let name: String
    let objects: [BusObject]
    /// Called when the service may be available: when the bus connects, and when the service
    /// restarts.
    var onAppear: ((BusConnection) -> Void)?
    var onVanish: (() -> Void)?

    private var isAttached = false

    init(name: String, objects: [BusObject]) {
        self.name = name
        self.objects = objects
    }

    /// The service is known to run or not to run.
    var isSettled: Bool { objects.allSatisfy(\.isSettled) }

    /// A second call does nothing.
    func attach(to bus: BusConnection) throws(SystemFailure) {
        if isAttached { return }
        isAttached = true
        try bus.listen(
            """
            type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',\
            interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(name)'
            """
        ) { [unowned self, unowned bus] in change($0, bus) }
        for object in objects { try object.attach(to: bus) }
        onAppear?(bus)
    }

    /// The bus has gone.
    func detach() {
        isAttached = false
        vanish()
    }

    private func change(_ signal: BusMessage, _ bus: BusConnection) {
        guard signal.text() == name, signal.text() != nil, let owner = signal.text()
        else { return }
        vanish()
        guard !owner.isEmpty else { return }
        // If the call fails, the connection is about to end, which `process()`
        // reports.
        for object in objects { try? object.ask(bus) }
        onAppear?(bus)
    }

    private func vanish() {
        for object in objects { object.forget() }
        onVanish?()
    }
}

/// When to try again to connect to a bus that is not there: at growing intervals, without end.
struct BusRetry {
    private(set) var due: Instant?
    private var seconds: Double
    private let bounds: (first: Double, most: Double)

    init(_ bounds: (first: Double, most: Double)) {
        self.bounds = bounds
        seconds = bounds.first
    }

    mutating func failed(now: Instant) {
        due = now + seconds
        seconds = min(seconds * 4, bounds.most)
    }

    mutating func trying() {
        due = nil
    }

    /// A service has answered on the bus.
    mutating func succeeded() {
        due = nil
        seconds = bounds.first
    }
}
