/// The properties of one object of a service, kept as they change.
final class BusObject {
    let path: String
    let interface: String
    /// `nil` = the service is not there, or does not answer.
    private(set) var properties: [String: BusValue]?
    /// Whether it has been found out, since the bus is there, if the service is.
    private(set) var isSettled = false

    private let service: String
    private let startsService: Bool
    /// Counts the questions: an answer to an earlier one is out of date.
    private var asked = 0

    init(service: String, path: String, interface: String, startsService: Bool = false) {
        self.service = service
        self.path = path
        self.interface = interface
        self.startsService = startsService
    }

    /// Listens first and asks then: the bus keeps the order, and no change is missed.
    func attach(to bus: BusConnection) throws(SystemFailure) {
        isSettled = false
        // Whoever lets go of the object lets go of the bus before it.
        try bus.listen(
            """
            type='signal',sender='\(service)',path='\(path)',\
            interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',\
            arg0='\(interface)'
            """
        ) { [unowned self, unowned bus] in change($0, bus) }
        try ask(bus, startsService: startsService)
    }

    /// The service came anew.
    func ask(_ bus: BusConnection) throws(SystemFailure) {
        try ask(bus, startsService: false)
    }

    /// The service, or the bus, went away.
    func forget() {
        asked += 1
        properties = nil
        isSettled = true
    }

    private func ask(_ bus: BusConnection, startsService: Bool) throws(SystemFailure) {
        asked += 1
        let question = asked
        var call = BusConnection.Call(
            destination: service, path: path, interface: "org.freedesktop.DBus.Properties",
            member: "GetAll")
        call.texts = [interface]
        call.startsService = startsService
        try bus.call(call) { [unowned self] reply in
            guard question == asked else { return }
            isSettled = true
            properties = reply.errorName == nil ? reply.properties() : nil
        }
    }

    private func change(_ signal: BusMessage, _ bus: BusConnection) {
        guard signal.text() != nil, let changed = signal.properties(),
            let invalidated = signal.texts()
        else { return }
        // A service that speaks without having answered is asked again; so is one that leaves out
        // the new value. Should that fail, the connection is going, which is noticed elsewhere.
        guard properties != nil, invalidated.isEmpty else {
            if isSettled { try? ask(bus) }
            return
        }
        properties?.merge(changed) { $1 }
    }
}
