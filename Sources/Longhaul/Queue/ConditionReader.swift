public import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform

/// The machine's conditions as this process sees them, below the overrides of a queue.
struct ConditionReader {
    private let queue: TransferQueue

    init(_ queue: TransferQueue) {
        self.queue = queue
    }

    func read(within seconds: Double) throws(LonghaulError) -> Conditions {
        let overrides = try overrides()
        let fileSystems = try fileSystems()
        do throws(SystemFailure) {
            let watch = try ConditionsWatch.start(
                .machine(environment: Environment.all()), interest: .conditions,
                overrides: overrides, fileSystems: fileSystems)
            defer { watch.stop() }
            return remembered(watch.read(within: seconds))
        } catch {
            throw error.longhaulError()
        }
    }

    /// A running engine has watched for longer: a value equal to its own dates from its time.
    private func remembered(_ now: Conditions) -> Conditions {
        guard queue.isEngineRunning, let known = try? queue.store.settings.engineView()?.conditions
        else {
            return now
        }
        var result = now
        for kind in ConditionKind.allCases { result[kind].remember(known[kind]) }
        return result
    }

    /// The file systems that requests name.
    private func fileSystems() throws(LonghaulError) -> Set<String> {
        let keys = try queue.store.readyEligibilities()
        let tasks = try queue.store.tasks.all()
        let needs =
            keys.map(\.interest)
            + tasks.flatMap { [$0.eligibility.interest, Set($0.request.triggers).interest] }
        let ofEngine = try queue.store.settings.engineView()?.conditions.mounted.value
        return needs.reduce(into: Set((ofEngine?.directories ?? [:]).keys)) {
            $0.formUnion($1.mounts)
        }
    }

    /// All present overrides of the machine's conditions.
    func overrides() throws(LonghaulError) -> ConditionOverrides {
        var overrides = ConditionOverrides()
        overrides.environment = try Self.environmentOverride()
        overrides.environmentSince = queue.now
        overrides.kept = try queue.store.settings.keptOverride()
        overrides.networks = try queue.store.settings.networks()
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
}

extension TransferQueue {
    /// The present conditions of the machine, as this process sees them: every source is asked, and
    /// a source that has not answered after `seconds` counts as missing. The overrides of the
    /// environment and of the store come first.
    ///
    /// - Throws: `LonghaulError` `invalidRequest` when `LONGHAUL_CONDITIONS` is not understood;
    ///   `io` when no thread or descriptor is left; `storeUnavailable`.
    public func conditions(within seconds: Double = 2) throws(LonghaulError) -> Conditions {
        try ConditionReader(self).read(within: seconds)
    }

    /// Records `override` in the store, for every process that uses it; conditions missing from it
    /// are unchanged.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`; then nothing was kept.
    public func keepOverride(_ override: ConditionOverride) throws(LonghaulError) {
        try store.settings.keep(override, now: now)
        WakeChannel.poke(directory)
    }

    /// Removes the override from the store. The environment's stays in force.
    ///
    /// - Throws: `LonghaulError` `storeUnavailable`.
    public func clearOverride() throws(LonghaulError) {
        try store.settings.clearOverride()
        WakeChannel.poke(directory)
    }
}
