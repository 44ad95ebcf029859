public import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform

extension TransferQueue {
    /// What the machine is like now, as this process sees it: every source is asked, and after
    /// `seconds` what has not answered counts as not there. The overrides of the environment and of
    /// the store stand before it.
    public func conditions(within seconds: Double = 2) throws(LonghaulError) -> Conditions {
<<<<<<< HEAD
        let overrides = try conditionOverrides()
        do throws(SystemFailure) {
            let watch = try ConditionsWatch.start(
                .machine(environment: Environment.all()), interest: .conditions,
                overrides: overrides)
            defer { watch.stop() }
            return remembered(watch.read(within: seconds))
        } catch {
            throw error.longhaulError()
        }
    }

    /// An engine that runs has watched for longer: what it sees the same is so since it says.
    private func remembered(_ now: Conditions) -> Conditions {
        guard isEngineRunning, let known = try? store.settings.engineView()?.conditions else {
            return now
        }
        var result = now
        result.power.remember(known.power)
        result.battery.remember(known.battery)
        result.network.remember(known.network)
        result.isIdle.remember(known.isIdle)
        return result
=======
        try ConditionReader(self).read(within: seconds)
>>>>>>> 2a1a80b8466e92358fbdc5aadd2182323ab02af9
    }

    /// Keeps in the store what `override` says, for every process that uses it; what it does not
    /// speak of stays as it is.
    public func keepOverride(_ override: ConditionOverride) throws(LonghaulError) {
        try store.settings.keep(override, now: now)
        WakeChannel.poke(directory)
    }

    /// Keeps no override any more. That of the environment goes on.
    public func clearOverride() throws(LonghaulError) {
        try store.settings.clearOverride()
        WakeChannel.poke(directory)
    }
<<<<<<< HEAD

    /// All that overrides the machine's own word now.
    func conditionOverrides() throws(LonghaulError) -> ConditionOverrides {
        var overrides = ConditionOverrides()
        overrides.environment = try TransferQueue.environmentOverride()
        overrides.environmentSince = now
        overrides.kept = try store.settings.keptOverride()
        return overrides
    }

    /// `LONGHAUL_CONDITIONS`; unset and empty say nothing.
    ///
    /// - Throws: `invalidRequest` when it is not understood.
    static func environmentOverride() throws(LonghaulError) -> ConditionOverride {
        guard let text = Environment.value("LONGHAUL_CONDITIONS"), !text.isEmpty
        else { return ConditionOverride() }
        do {
            return try ConditionOverride(parsing: text)
        } catch {
            throw LonghaulError(.invalidRequest, "LONGHAUL_CONDITIONS: \(error.message)")
        }
    }
}

extension Reading {
    fileprivate mutating func remember(_ known: Reading) {
        guard value == known.value, source == known.source, let since = known.since else { return }
        self.since = min(since, self.since ?? since)
    }
=======
>>>>>>> 2a1a80b8466e92358fbdc5aadd2182323ab02af9
}
