internal import LonghaulCore
internal import LonghaulPlatform

extension BackgroundSession {
    /// Makes known, durably, what the configuration says of the session and its host, and attaches
    /// this process to the host: as long as it is, its events are told here and it is not started.
    func record() async throws(LonghaulError) -> HostAttachment? {
        let (session, configuration) = (identifier, configuration)
        return try await executor.change { queue throws(LonghaulError) in
            let known = try queue.session(session)?.settings
            if let wanted = configuration.host, let other = known?.host,
                other != wanted.identifier
            {
                throw LonghaulError(
                    .conflict,
                    "session \(session) belongs to host \(other); `longhaul session set --host`"
                        + " changes that")
            }
            if let host = configuration.host { try queue.learn(host) }
            var change = SessionChange()
            change.launchEvents = configuration.sessionSendsLaunchEvents
            change.askBeforeStart = configuration.asksBeforeDelayedRequests
            if let host = configuration.host { change.host = .some(host.identifier) }
            var settings = known ?? SessionSettings()
            change.apply(to: &settings)
            if settings != known { try queue.change(session: session, change) }
            // A host that was removed cannot be attached to.
            guard let host = settings.host, try queue.host(host) != nil else { return nil }
            // A process that Longhaul started is known to run. Were it attached, too, a process
            // that always crashes would count as one that has come back by itself, and be started
            // without delay.
            if BackgroundLaunch.host == host { return nil }
            return try queue.attach(host: host)
        }
    }
}

extension TransferQueue {
    /// A host that is known already keeps what else was said of it.
    func learn(_ host: Host) throws(LonghaulError) {
        let known = try self.host(host.identifier)?.settings
        var settings = known ?? HostSettings(argv: [])
        settings.argv = host.command
        if let permitted = host.permittedTaskIdentifiers { settings.permitted = permitted }
        if settings != known { try add(host: host.identifier, settings) }
    }
}
