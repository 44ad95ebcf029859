internal import LonghaulCore

/// The lanes in which files are made durable and named, a batch at a time. Each file system has
/// one: a disk that is slow holds up nobody else's files.
extension Engine {
    /// In the lane of the file system that its part file is on.
    func lane(of fetch: FetchID) -> FinishingLane {
        let device = active[fetch]?.machine.state.partIdentity?.device ?? 0
        if let lane = finishing[device] { return lane }
        let lane = FinishingLane()
        finishing[device] = lane
        return lane
    }

    /// An outcome frees its place in the lane.
    func settleLane(_ event: FetchEvent, _ fetch: FetchID) {
        switch event.settles {
        case .securing:
            for lane in finishing.values { lane.securing.remove(fetch) }
        case .publishing:
            for lane in finishing.values { lane.publishing.remove(fetch) }
        case .copy, nil: break
        }
    }

    /// Sends the next batch off when the one before has come back.
    func gatherFinishing() {
        for (device, lane) in finishing.sorted(by: { $0.key < $1.key }) {
            if lane.securing.isEmpty, !lane.toSecure.isEmpty {
                lane.securing = Set(lane.toSecure.map(\.0))
                files.submit([.secure(lane.toSecure)])
                lane.toSecure = []
            }
            if lane.publishing.isEmpty, !lane.toPublish.isEmpty {
                lane.publishing = Set(lane.toPublish.map(\.0))
                files.submit([.publish(lane.toPublish)])
                lane.toPublish = []
            }
            if lane.isEmpty { finishing[device] = nil }
        }
    }
}
