/// A copy of the properties of one D-Bus object, updated as they change.
final class BusObject {
    let path: String
    let interface: String
    /// `nil` = the service is not running, or does not answer.
    private(set) var properties: [String: BusValue]?
    /// The service has answered, or is known to be absent, since the bus connected.
    private(set) var isSettled = false

    private let service: String
    private let startsService: Bool
    /// Counts the requests: a reply to an earlier one is out of date.
    private var requests = 0

    init(service: String, path: String, interface: String, startsService: Bool = false) {
        self.service = service
        self.path = path
        self.interface = interface
        self.startsService = startsService
    }

    /// Listens before it reads the properties: the bus keeps the order, so no change is missed.
    func attach(to bus: BusConnection) throws(SystemFailure) {
        isSettled = false
        // The closure's references are valid: the owner releases the bus before this object.
        try bus.listen(
            """
            type='signal',sender='\(service)',path='\(path)',\
            interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',\
            arg0='\(interface)'
            """
        ) { [unowned self, unowned bus] in change($0, bus) }
        try ask(bus, startsService: startsService)
    }

    /// Reads the properties again after the service has restarted.
    func ask(_ bus: BusConnection) throws(SystemFailure) {
        try ask(bus, startsService: false)
    }

    /// The service or the bus has gone.
    func forget() {
        requests += 1
        properties = nil
        isSettled = true
    }

    private func ask(_ bus: BusConnection, startsService: Bool) throws(SystemFailure) {
        requests += 1
        let question = requests
        var call = BusConnection.Call(
            destination: service, path: path, interface: "org.freedesktop.DBus.Properties",
            member: "GetAll")
        call.arguments = .texts(interface)
        call.startsService = startsService
        try bus.call(call) { [unowned self] reply in
            guard question == requests else { return }
            isSettled = true
            properties = reply.errorName == nil ? reply.properties() : nil
        }
    }

    private func change(_ signal: BusMessage, _ bus: BusConnection) {
        guard signal.text() != nil, let changed = signal.properties(),
            let invalidated = signal.texts()
        else { return }
        // The properties are read again if a signal comes before the first reply, or leaves out the
        // new value. If the call fails, the connection is about to end, which
        // `process()` reports.
        guard properties != nil, invalidated.isEmpty else {
            if isSettled { try? ask(bus) }
            return
        }
        properties?.merge(changed) { $1 }
    }
}
