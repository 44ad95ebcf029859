internal import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulStore

/// A network that was given a name.
public struct NamedNetwork: Hashable, Sendable {
    /// Its name, for requests.
    public var name: String
    /// Hardware address of its gateway.
    public var gateway: String
    /// Prefixes of this machine's addresses there, as `192.168.1.0/24`.
    public var prefixes: [String]
    /// The machine is on it.
    public var isCurrent: Bool
}

/// The networks of a queue that were given names.
public struct NamedNetworks: Sendable {
    private let queue: TransferQueue

    /// The networks that requests of this queue may name.
    public init(_ queue: TransferQueue) {
        self.queue = queue
    }

    /// Names the network that the machine is on, for `requiredNetworks` and the trigger `network`.
    /// It is recognized by the hardware address of its gateway and by its prefix. A name that
    /// another network has moves to this one.
    ///
    /// - Throws: `LonghaulError` `invalidRequest` for a name with a comma, a bar or a colon, or
    ///   with `!` at its beginning; `conflict` without a network, and where the gateway's address
    ///   is not known, as on a dialled line; `storeUnavailable`.
    public func name(_ name: String) throws(LonghaulError) {
        guard let name = MachineName.network(name) else {
            throw LonghaulError(
                .invalidRequest, "the name of a network has no comma, bar or colon, and no ! first")
        }
        guard let place = try queue.conditions().network.names?.place else {
            throw LonghaulError(
                .conflict, "the hardware address of the network's gateway is not known")
        }
        try queue.store.settings.setNetwork(name, to: place)
        WakeChannel.poke(queue.directory)
    }

    /// The networks that were given names, by name.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`.
    public func all() throws(LonghaulError) -> [NamedNetwork] {
        let networks = try queue.store.settings.networks()
        let current = networks.isEmpty ? nil : try queue.conditions().network.names?.given
        return networks.sorted { $0.key < $1.key }.map { name, place in
            NamedNetwork(
                name: name, gateway: place.gateway, prefixes: place.prefixes.sorted(),
                isCurrent: current?.contains(name) ?? false)
        }
    }

    /// Takes a name away. Requests that have it keep waiting for a network of this name.
    ///
    /// - Throws: `LonghaulError` `conflict` for an unknown name; `storeUnavailable`.
    public func forget(_ name: String) throws(LonghaulError) {
        guard try queue.store.settings.setNetwork(name, to: nil) else {
            throw LonghaulError(.conflict, "there is no network \(name)")
        }
        WakeChannel.poke(queue.directory)
    }
}

extension NamedNetwork: ShownRecord {
    package static let fields: [ShownField<NamedNetwork>] = [
        ShownField("name") { $0.name },
        ShownField("gateway") { $0.gateway },
        ShownField("prefixes") { $0.prefixes },
        ShownField("current") { $0.isCurrent },
    ]
}

extension TriggerEvent: ShownValue {
    package static var jsonSchema: JSONPayload { ["type": ["string", "object"]] }

    package var shownValue: FieldValue { .text(trigger.rawValue) }

    /// An event with a name is an object.
    package func writeJSON(to json: inout JSONText) {
        guard let name = trigger.name else { return trigger.rawValue.writeJSON(to: &json) }
        json.object {
            $0.field("event", trigger.event)
            $0.field("name", name)
            if case .fileSystem = trigger { $0.field("path", path) }
            if let files { $0.field("files", files) }
        }
    }
}
