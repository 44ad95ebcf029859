import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// People and programs that deal with hosts, sessions and events.
extension SimWorld {
    static let hostNames = ["h0", "h1", "h2"]
    static let sessionNames = ["s0", "s1", "s2", "s3"]
    static let hostedMax = 14

    /// The datagram beside the store; it may be lost.
    func hintHosts() {
        if !random.happens(trouble.hint) { inputs.append(.wake) }
    }

    func enqueue(inSession session: String) throws {
        guard let hosts, expected.count < Self.hostedMax else { return }
        let url = makeContent()
        if random.happens(0.8), let content = wire.contents[url] {
            let size = Int64.random(in: 0...60_000, using: &random)
            for name in [url, sibling(of: url)] {
                var small = SimContent(proof: content.proof, label: nextLabel, size: size)
                small.rate = 3_000_000
                // A link that has expired; the other name may do.
                if random.happens(trouble.gone * 4) {
                    small.refusal = [401, 403, 404, 410].randomElement(using: &random)
                }
                wire.contents[name] = small
            }
            nextLabel += 1
        }
        let destination = "/d/f\(nextURL)"
        var request = TransferRequest(url: url, destination: .file(destination))
        request.session = session
        request.options.connections = .exactly(1)
        request.options.retries = random.happens(0.2) ? Int.random(in: 0...2, using: &random) : nil
        if random.happens(0.3) {
            request.earliestBegin = now.wall + Double.random(in: 1...200, using: &random)
        }
        if random.happens(0.1) {
            request.deadline = .after(seconds: Double.random(in: 20...900, using: &random))
        }
        let known = hosts.ledger.settings[session]?.host
        if random.happens(0.3) {
            request.host = known ?? hosts.ledger.hosts.keys.sorted().randomElement(using: &random)
            if let host = request.host, hosts.ledger.hosts[host] == nil { request.host = nil }
        }
        let new = NewTransfer(
            request: request, origin: SimWire.origin(of: url), destination: destination)
        guard case .recorded(let id, _)? = try record(new) else {
            throw SimComplaint("hosts: an enqueue for \(session) was refused", self)
        }
        // How often its bytes come is not the matter here.
        expected[id] = SimTransfer(
            url: url, destination: destination, policy: .fail, isExempt: true)
        hosts.ledger.sessionOf[id] = session
        if let host = request.host {
            hosts.ledger.settings[session, default: SessionSettings()].host = host
        }
        say("enqueued \(id) in \(session): \(request)")
        hintHosts()
    }

    // MARK: - People

    func peopleActOnHosts() throws {
        guard let hosts else { return }
        let isOrphan = random.happens(0.05)
        let session =
            isOrphan
            ? TransferRequest.defaultSession : Self.sessionNames.randomElement(using: &random)!
        let host = hostNames.randomElement(using: &random)!
        switch Int.random(in: 0..<16, using: &random) {
        case 14, 15: try hosts.enter(host, Double.random(in: 1...400, using: &random))
        case 0: try add(host: host)
        case 1: try remove(host: host)
        case 2, 3: toggleProgram(of: host)
        case 4, 5: try bind(session)
        case 6: try change(session) { $0.launchEvents = random.happens(0.7) }
        case 7:
            try change(session) {
                $0.launchDelay = .some([nil, 0, 20, 300].randomElement(using: &random)!)
            }
        case 8: try change(session) { $0.askBeforeStart = Bool.random(using: &random) }
        case 9:
            guard hosts.ledger.hosts[host] != nil else { return }
            try reset(host: host)
            hintHosts()
        case 10: try hosts.attach(host, Double.random(in: 1...300, using: &random))
        case 11: try acknowledge(in: session)
        case 12:
            if hosts.poisoned.remove(session) == nil { hosts.poisoned.insert(session) }
            say("events of \(session) are poison: \(hosts.poisoned.contains(session))")
        default: try enqueue(inSession: session)
        }
    }

    func add(host: String) throws {
        guard let hosts else { return }
        var settings = HostSettings(argv: [
            "/bin/\(host)", "\(Int.random(in: 0...9, using: &random))",
        ])
        settings.eventBudget = [nil, 2, 10, 120].randomElement(using: &random)!
        if hosts.tasks != nil {
            settings.permitted = SimTasks.identifiers
            settings.taskBudget = [nil, 1, 5, 40].randomElement(using: &random)!
        }
        say("\(host) is \(settings)")
        try clients.hosts.add(host, settings, now: now.wall)
        hosts.ledger.hosts[host] = SimHostLedger.Host(
            argv: settings.argv, budget: settings.eventBudget, taskBudget: settings.taskBudget)
        hosts.tasks?.forgive(host)
        hintHosts()
    }

    private func remove(host: String) throws {
        guard let hosts, hosts.ledger.hosts[host] != nil else { return }
        say("\(host) is removed")
        try clients.hosts.remove(host)
        hosts.tasks?.remove { $0.key.host == host }
        hosts.ledger.hosts[host] = nil
        hintHosts()
    }

    private func toggleProgram(of host: String) {
        guard let hosts else { return }
        let program = "/bin/\(host)"
        if hosts.obstacles[program] == nil {
            hosts.obstacles[program] = [.missing, .notExecutable].randomElement(using: &random)
        } else {
            hosts.obstacles[program] = nil
            hosts.ledger.hosts[host]?.mendedAt = now.monotonic
        }
        say("\(program): \(hosts.obstacles[program].map { "\($0)" } ?? "there")")
    }

    private func bind(_ session: String) throws {
        guard let hosts else { return }
        var host = hosts.ledger.hosts.keys.sorted().randomElement(using: &random)
        if random.happens(0.2) { host = nil }
        try change(session) { $0.host = .some(host) }
    }

    func change(_ session: String, _ edit: (inout SessionChange) -> Void) throws {
        guard let hosts else { return }
        var change = SessionChange()
        edit(&change)
        say("session \(session): \(change)")
        try clients.sessions.change(session, change, now: now.wall)
        change.apply(to: &hosts.ledger.settings[session, default: SessionSettings()])
        hintHosts()
    }

    /// By hand, through a number or one.
    private func acknowledge(in session: String) throws {
        guard let hosts else { return }
        let waiting = hosts.ledger.waiting(of: session)
        guard let seq = waiting.randomElement(using: &random) else { return }
        let seqs = Bool.random(using: &random) ? [seq] : waiting.filter { $0 <= seq }
        say("\(seqs) are acknowledged by hand")
        try hosts.acknowledge(seqs, of: session)
    }
}

extension SimHosts {
    /// It waits for nothing but an answer, and has asked for one.
    func hasAsked(about transfer: Transfer) -> Bool {
        transfer.waitingFor.contains { $0.reason == .input && $0.nextCheck == nil }
            && ledger.log.values.contains {
                $0.type == .transferNeedsInput && $0.transfer == transfer.id
            }
    }
}
