internal import LonghaulCore
internal import LonghaulEngine
internal import LonghaulPlatform
internal import LonghaulStore

/// A launch that was handed to a process which runs by itself.
struct HandedLaunch: Sendable {
    let id: LaunchID
    /// The lines that a new process would get on standard input.
    var input: [UInt8] = []
    /// The variables that a new process would get.
    var environment: [String: String] = [:]
}

/// The queue as processes see it that take what their hosts are handed.
struct ResidentQueue {
    let queue: TransferQueue
    private var store: Store { queue.store }
    private var machine: Machine { queue.machine }

    /// Enters this process: it takes what its host is handed from now on.
    ///
    /// - Throws: `noSuchHost`, `storeUnavailable`.
    func enter(_ host: String) throws(LonghaulError) -> StoredResident {
        try queue.reset(host: host)
        try queue.recordUse(ofHost: host)
        return try enterAgain(host)
    }

    private func enterAgain(_ host: String) throws(LonghaulError) -> StoredResident {
        let machine = machine
        let identity = ProcessIdentity.current
        let process = LaunchedProcess(
            pid: identity.pid, startTicks: Int64(clamping: identity.startTicks),
            bootID: machine.bootID ?? "")
        let resident = try store.residents.enter(host, process) { $0.isAlive(on: machine) }
        WakeChannel.poke(queue.directory)
        return resident
    }

    /// The launch that the process is to carry out now. A process that was too slow for an earlier
    /// one, or whose store was replaced, says once more that it is there.
    func handed(
        to resident: inout StoredResident
    ) throws(LonghaulError) -> HandedLaunch? {
        if let (launch, tasks) = try store.residents.launch(of: resident.id) {
            return try read(launch, tasks)
        }
        if try !store.residents.isPresent(resident.id), try store.hosts.find(resident.host) != nil {
            resident = try enterAgain(resident.host)
        }
        return nil
    }

    private func read(
        _ launch: StoredLaunch, _ tasks: [StoredTask]
    ) throws(LonghaulError) -> HandedLaunch {
        var handed = HandedLaunch(id: launch.id)
        let handover = HostHandover(queue: queue, order: LaunchOrder(launch))
        do {
            let gathered = try handover.gather(
                tasks, within: launch.events, deadline: launch.deadline
            ) { handed.input += $0 }
            handed.environment = gathered?.environment ?? [:]
        } catch {
            throw (error as? LonghaulError) ?? LonghaulError(.internal, "\(error)")
        }
        return handed
    }

    /// Says what became of a launch, durably. `false`: it counts no more.
    @discardableResult
    func report(_ report: LaunchReport) throws(LonghaulError) -> Bool {
        defer { WakeChannel.poke(queue.directory) }
        return try store.residents.add(report)
    }

    /// Reports progress of a continued task. `false`: it counts no more, or makes no sense.
    @discardableResult
    func report(
        _ report: ProgressReport, of task: String, in launch: LaunchID
    ) throws(LonghaulError) -> Bool {
        defer { WakeChannel.poke(queue.directory) }
        return try store.residents.record(report, of: task, in: launch)
    }

    /// This process takes nothing more, and gives back its open launches.
    func leave(_ resident: StoredResident) throws(LonghaulError) {
        try store.residents.leave(resident.id)
        WakeChannel.poke(queue.directory)
    }
}
