internal import LonghaulModel

/// The places of the slots of jobs in one decision. A slot has as few places as the strictest of
/// the jobs that run in it and the job that is to begin.
struct SlotUse {
    /// The jobs of a slot that run or begin.
    private var users: [String: [HostFacts]] = [:]
    /// Slots whose next place a job waits for that was due earlier: no other job overtakes it.
    private var awaited: Set<String> = []
    /// The jobs that have to wait.
    private(set) var waits: [String: WaitReason] = [:]

    init(_ hosts: some Sequence<HostFacts>) {
        for host in hosts where host.isBusy {
            if let slot = host.slot { users[slot.name, default: []].append(host) }
        }
    }

    /// Gives the job a place if there is one. Hosts and jobs without a slot need none.
    ///
    /// - Returns: Whether it may begin.
    mutating func admit(_ host: HostFacts?) -> Bool {
        guard let host, let slot = host.slot else { return true }
        let others = users[slot.name] ?? []
        let places = others.compactMap(\.slot?.places).reduce(slot.places, min)
        if others.count < places, !awaited.contains(slot.name) {
            assert(!host.isBusy, "a job that runs has its place already")
            users[slot.name] = others + [host]
            return true
        }
        awaited.insert(slot.name)
        assert(!others.isEmpty, "a slot that no job uses has a place")

        let names = others.map(\.name).sorted().joined(separator: ", ")
        waits[host.name] = WaitReason(
            .slot, required: slot.rawValue,
            current: names + (others.count == 1 ? " has the place" : " have the places"))
        return false
    }
}
