internal import LonghaulCore
internal import LonghaulEngine
internal import LonghaulPlatform
package import LonghaulStore

/// A launch that was handed to a process which runs by itself.
package struct HandedLaunch: Sendable {
    package let id: LaunchID
    /// As on the standard input of a process that is made for a launch.
    package var input: [UInt8] = []
    /// As of such a process.
    package var environment: [String: String] = [:]
}

extension TransferQueue {
    /// From now on this process takes what its host is handed.
    ///
    /// - Throws: `noSuchHost`, `storeUnavailable`.
    package func enterResident(ofHost host: String) throws(LonghaulError) -> StoredResident {
        try reset(host: host)
        try recordUse(ofHost: host)
        return try reenterResident(ofHost: host)
    }

    /// Whether a process takes what the host is handed.
    func hasResident(ofHost host: String) throws(LonghaulError) -> Bool {
        try store.residents.all(of: host).contains { $0.process.isAlive(on: machine) }
    }

    private func reenterResident(ofHost host: String) throws(LonghaulError) -> StoredResident {
        let machine = machine
        let identity = ProcessIdentity.current
        let process = LaunchedProcess(
            pid: identity.pid, startTicks: Int64(clamping: identity.startTicks),
            bootID: machine.bootID ?? "")
        let resident = try store.residents.enter(host, process) { $0.isAlive(on: machine) }
        WakeChannel.poke(directory)
        return resident
    }

    /// The launch that the process is to carry out now. A process that was too slow for an earlier
    /// one, or whose store was replaced, says once more that it is there.
    package func handed(
        to resident: inout StoredResident
    ) throws(LonghaulError) -> HandedLaunch? {
        if let (launch, tasks) = try store.residents.launch(of: resident.id) {
            return try read(launch, tasks)
        }
        if try !store.residents.isPresent(resident.id), try store.hosts.find(resident.host) != nil {
            resident = try reenterResident(ofHost: resident.host)
        }
        return nil
    }

    private func read(
        _ launch: StoredLaunch, _ tasks: [StoredTask]
    ) throws(LonghaulError) -> HandedLaunch {
        var handed = HandedLaunch(id: launch.id)
        let handover = HostHandover(queue: self, order: LaunchOrder(launch))
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
    package func report(_ report: LaunchReport) throws(LonghaulError) -> Bool {
        defer { WakeChannel.poke(directory) }
        return try store.residents.add(report)
    }

    /// This process takes nothing more, and gives back what it has not ended.
    package func leave(_ resident: StoredResident) throws(LonghaulError) {
        try store.residents.leave(resident.id)
        WakeChannel.poke(directory)
    }
}

extension LaunchedProcess {
    var identity: ProcessIdentity {
        ProcessIdentity(pid: pid, startTicks: UInt64(clamping: startTicks))
    }

    /// Whether it runs, in this boot.
    func isAlive(on machine: Machine) -> Bool {
        bootID == machine.bootID ?? "" && identity.isAlive
    }
}
