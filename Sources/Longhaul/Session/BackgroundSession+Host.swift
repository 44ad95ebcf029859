internal import LonghaulCore
internal import LonghaulStore

extension BackgroundSession {
    /// Makes known, durably, what the configuration says of the session and its host. Writes
    /// nothing when all is known already.
    func record() async throws(LonghaulError) {
        let (session, configuration) = (identifier, configuration)
        try await desk.change { queue throws(LonghaulError) in
            let now = queue.now
            if let host = configuration.host { try queue.store.learn(host, now: now) }
            let known = try queue.store.session(session)?.settings
            if let wanted = configuration.host, let other = known?.host,
                other != wanted.identifier
            {
                throw LonghaulError(
                    .conflict,
                    "session \(session) belongs to host \(other); `longhaul session set --host`"
                        + " changes that")
            }
            var change = SessionChange()
            change.launchEvents = configuration.sessionSendsLaunchEvents
            change.askBeforeStart = configuration.asksBeforeDelayedRequests
            if let host = configuration.host { change.host = .some(host.identifier) }
            var settings = known ?? SessionSettings()
            change.apply(to: &settings)
            if settings != known { try queue.store.change(session: session, change, now: now) }
        }
    }
}

extension Host {
    private static let identifierBytes = 200

    /// The name is also one of a file, and the program must be found from any directory.
    func check() throws(LonghaulError) {
        let bytes = identifier.utf8
        let isName =
            !bytes.isEmpty && bytes.count <= Host.identifierBytes && bytes.first != 0x2E
            && !bytes.contains { $0 < 0x21 || $0 == 0x2F || $0 == 0x7F }
        if !isName {
            throw LonghaulError(
                .invalidRequest, "\(identifier) is no host's identifier: no blanks, no slashes")
        }
        guard let program = command.first, program.utf8.first == 0x2F else {
            throw LonghaulError(
                .invalidRequest, "a host's command begins with the absolute path of a program")
        }
    }
}

extension Store {
    /// A program that is known already keeps what else was said of it.
    fileprivate func learn(_ host: Host, now: Timestamp) throws(LonghaulError) {
        var settings =
            try self.host(host.identifier)?.settings ?? HostSettings(argv: [])
        if settings.argv == host.command { return }
        settings.argv = host.command
        try add(host: host.identifier, settings, now: now)
    }
}
