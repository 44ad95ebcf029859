internal import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulStore

extension BackgroundSession {
    /// Records the configuration's settings of the session and its host, and attaches this process
    /// to the host: while attached, events are delivered here and the host is not started.
    func record() async throws(LonghaulError) -> HostAttachment? {
        let (session, configuration) = (identifier, configuration)
        // The executor's thread does not see the launch of a simulated world.
        let simulated = SimulatedLaunch.current?.launch.host
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
            let former = try configuration.host?.learn(in: queue)
            var change = SessionChange()
            change.launchEvents = configuration.sessionSendsLaunchEvents
            change.askBeforeStart = configuration.asksBeforeDelayedRequests
            if let host = configuration.host { change.host = .some(host.identifier) }
            var settings = known ?? SessionSettings()
            change.apply(to: &settings)
            if settings != known { try queue.change(session: session, change) }
            if let former { try configuration.host?.report(former, to: session, in: queue) }
            // A host that was removed cannot be attached to.
            guard let host = settings.host, try queue.host(host) != nil else { return nil }
            // A process that Longhaul started is known to run. Attaching ends the delay after
            // failures, also of a process that always crashes.
            if (simulated ?? BackgroundLaunch.host) == host { return nil }
            return try queue.attach(host: host)
        }
    }
}

extension HostProgram {
    /// Makes the host known. One that is known already keeps what else was said of it.
    ///
    /// - Returns: Its command until now, where that was another one.
    func learn(in queue: TransferQueue) throws(LonghaulError) -> [String]? {
        let known = try queue.host(identifier)?.settings
        var settings = known ?? HostSettings(argv: [])
        settings.argv = command
        if let permittedTaskIdentifiers { settings.permitted = permittedTaskIdentifiers }
        if let notifies { settings.notifies = notifies }
        if settings != known { try queue.add(host: identifier, settings) }
        return known.flatMap { $0.argv == command ? nil : $0.argv }
    }

    /// Records that another command is started from now on.
    fileprivate func report(
        _ former: [String], to session: String, in queue: TransferQueue
    ) throws(LonghaulError) {
        var detail = JSONText()
        detail.object {
            $0.field("host", identifier)
            $0.field("from", ShownOutput.arguments(former))
            $0.field("to", ShownOutput.arguments(command))
        }
        try queue.store.events.append(
            .hostChanged, of: session, detail: String(decoding: detail.bytes, as: UTF8.self),
            now: queue.now)
    }
}

extension BackgroundSession {
    /// Asks `handler`, for as long as the session is open, whenever one of its transfers waits for
    /// input: its link has expired, or it is about to begin and the configuration requires asking.
    /// Each need is reported once to each process; a handler that throws does not change it. A
    /// second handler replaces the first.
    ///
    /// Only transfers of a session with a host wait for input; without one, a transfer with an
    /// expired link fails, with its bytes kept.
    public func onInputNeeded(
        _ handler: @escaping @Sendable (InputNeed) async throws -> InputReply
    ) {
        inputs.ask(handler)
    }
}
