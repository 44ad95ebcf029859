import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// Streams of other machines whose events wake hosts, and the engine's connections to them. The
/// bytes arrive in pieces, and a connection ends anywhere. Each event wakes its host once.
final class SimPushes {
    private struct Event {
        let number: Int
        let identifier: String
    }

    /// A stream that keeps all its events.
    private struct Server {
        let isTopic: Bool
        /// It repeats the event after which it is asked to go on.
        let isRepeating: Bool
        var events: [Event] = []
    }

    private struct Connection {
        let subscription: PushSubscription
        var stream: PushStream
        var pending: [UInt8]
    }

    unowned let tasks: SimTasks
    private var servers: [String: Server] = [:]
    private var connections: [PushSubscription.ID: Connection] = [:]
    private var isFirst = true
    /// Events that have woken a host, by their numbers.
    private var received: Set<Int> = []

    init(_ tasks: SimTasks) {
        self.tasks = tasks
    }

    private var hosts: SimHosts { tasks.hosts }
    private var world: SimWorld { hosts.world }

    func engineIsGone() {
        connections = [:]
        isFirst = true
    }

    // MARK: - Clients and servers

    func act(_ host: String) throws {
        switch Int.random(in: 0..<6, using: &world.random) {
        case 0: try subscribe(host)
        case 1:
            guard world.random.happens(0.2), hosts.ledger.hosts[host] != nil else { return }
            world.say("\(host) unsubscribes")
            _ = try world.clients.subscriptions.remove(of: host, url: nil)
        default: publish()
        }
    }

    /// Each has a stream of its own: one that is removed is not asked for again.
    private func subscribe(_ host: String) throws {
        guard hosts.ledger.hosts[host] != nil, servers.count < 6 else { return }
        let isTopic = Bool.random(using: &world.random)
        let url = "http://push.test/\(servers.count)" + (isTopic ? "/json" : "")
        let isUrgent = world.random.happens(0.3)
        servers[url] = Server(isTopic: isTopic, isRepeating: world.random.happens(0.3))
        world.say("\(host) subscribes to \(url), urgent \(isUrgent)")
        try world.clients.subscriptions.add(
            PushSubscription(id: 0, host: host, url: url, isUrgent: isUrgent))
    }

    private func publish() {
        guard let url = servers.keys.sorted().randomElement(using: &world.random) else { return }
        let identifier = ["w0", "w1", "w2"].randomElement(using: &world.random)!
        let event = Event(number: tasks.nextNumber(), identifier: identifier)
        servers[url]?.events.append(event)
        world.say("\(url) has event \(event.number), \(identifier)")
        for id in connections.keys where connections[id]?.subscription.url == url {
            guard let server = servers[url] else { continue }
            connections[id]?.pending += Self.bytes(of: server.events.count - 1, server)
        }
    }

    /// The id of an event is its place, counted from 1.
    private static func bytes(of index: Int, _ server: Server) -> [UInt8] {
        let event = server.events[index]
        let data = SimTask.payload(event.number)
        if server.isTopic {
            let message = data.replacing("\"", with: "\\\"")
            return Array(
                """
                {"id":"\(index + 1)","event":"message","topic":"\(event.identifier)",\
                "message":"\(message)"}\n
                """.utf8)
        }
        return Array("id: \(index + 1)\nevent: \(event.identifier)\ndata: \(data)\n\n".utf8)
    }

    private func answer(_ subscription: PushSubscription, _ server: Server) -> [UInt8] {
        let (url, headers) = PushStream.request(of: subscription)
        let place =
            server.isTopic
            ? url.split(separator: "since=").dropFirst().first.map(String.init)
            : headers["Last-Event-ID"]
        var next = place.flatMap { Int($0) } ?? 0
        if server.isRepeating, next > 0 { next -= 1 }
        return (next..<max(next, server.events.count)).flatMap { Self.bytes(of: $0, server) }
    }

    // MARK: - The engine's process

    /// Opens and closes connections, and takes some of what has come.
    func advance() throws {
        guard hosts.isEngineThere, !world.isDead, !servers.isEmpty else { return }
        do {
            if isFirst { try world.store.subscriptions.forgetConnections() }
            isFirst = false
            try connect()
            for id in connections.keys.sorted() { try advance(id) }
        } catch let complaint as SimComplaint {
            throw complaint
        } catch {
            // The process has died, or its store could not be written: the servers repeat what is
            // not recorded.
            guard world.isDead || world.isStoreFailing else { throw error }
            connections = [:]
        }
    }

    private func connect() throws {
        let wanted = try world.store.subscriptions.all()
        let isOffline = world.visible.network.value == .offline
        let plan = PushPlan.decide(
            wanted, open: Set(connections.keys), isOffline: isOffline, now: world.now.wall)
        for id in plan.closes { connections[id] = nil }
        for subscription in plan.opens where world.random.happens(isPeaceful ? 1 : 0.5) {
            try open(subscription)
        }
    }

    private var isPeaceful: Bool { hosts.trouble.people == 0 }

    private func open(_ subscription: PushSubscription) throws {
        guard let server = servers[subscription.url] else { return }
        var headers = HeaderFields()
        headers["Content-Type"] = server.isTopic ? "application/x-ndjson" : "text/event-stream"
        let head = ResponseHead(
            status: 200, headers: headers, effectiveURL: subscription.url,
            receivedAt: world.now.wall)
        guard let stream = PushStream(head, of: subscription) else {
            throw hosts.broken("\(subscription.url) is taken for no stream")
        }
        world.say("a connection to \(subscription.url) after \(subscription.lastID ?? "none")")
        try world.store.subscriptions.connected(subscription.id, now: world.now.wall)
        connections[subscription.id] = Connection(
            subscription: subscription, stream: stream, pending: answer(subscription, server))
    }

    private func advance(_ id: PushSubscription.ID) throws {
        guard var connection = connections[id] else { return }
        let most = connection.pending.count
        let count = isPeaceful ? most : Int.random(in: 0...most, using: &world.random)
        let bytes = Array(connection.pending.prefix(count))
        connection.pending.removeFirst(count)
        let events = connection.stream.receive(bytes)
        connections[id] = connection
        if !events.isEmpty { try record(events, of: connection) }
        if world.random.happens(world.trouble.cut / 2) { try cut(id) }
    }

    private func record(_ events: [PushEvent], of connection: Connection) throws {
        let subscription = connection.subscription
        let wakeUps = events.map {
            WakeUp(identifier: $0.identifier, payload: $0.text, isUrgent: subscription.isUrgent)
        }
        let isTaken = try world.clients.subscriptions.receive(
            wakeUps, lastID: connection.stream.lastID, by: subscription.id, now: world.now.wall)
        guard isTaken else { return }
        for wakeUp in wakeUps {
            let number = SimTask.number(in: wakeUp.payload)
            guard received.insert(number).inserted else {
                throw hosts.broken("event \(number) of \(subscription.url) wakes twice")
            }
            hosts.tally.streamed += 1
            world.note(wakeUp, number: number, of: subscription.host)
        }
        world.hintHosts()
    }

    private func cut(_ id: PushSubscription.ID) throws {
        guard let connection = connections.removeValue(forKey: id) else { return }
        let known = try world.store.subscriptions.all().first { $0.id == id }
        let failure = Failure(
            .transient, LonghaulError(.serverError, "simulated: the connection is cut"))
        let end = PushPlan.afterEnd(
            failure, of: connection.stream, failures: known?.failures ?? 0, now: world.now.wall,
            using: &world.random)
        world.say("the connection to \(connection.subscription.url) is cut: \(end)")
        try world.store.subscriptions.ended(
            id, failures: end.failures, retryAt: end.retryAt, error: end.error)
    }

    // MARK: - The end

    /// An event has not woken the host that is subscribed to it.
    func isOpen() throws -> Bool {
        try world.clients.subscriptions.all().contains { subscription in
            servers[subscription.url]?.events.contains { !received.contains($0.number) } ?? false
        }
    }
}
