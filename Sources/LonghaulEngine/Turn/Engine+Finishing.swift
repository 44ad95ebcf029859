internal import LonghaulCore

/// The lanes in which files are made durable and named, a batch at a time. Each file system has
/// one: a disk that is slow holds up nobody else's files.
extension Engine {
    /// In the lane of the file system that its part file is on.
    func finish(_ fetch: FetchID, _ change: (inout FinishingLane) -> Void) {
        let device = active[fetch]?.machine.state.partIdentity?.device ?? 0
        change(&finishing[device, default: FinishingLane()])
    }

    /// An outcome frees its place in the lane.
    func settleLane(_ event: FetchEvent, _ fetch: FetchID) {
        switch event.settles {
        case .securing:
            for device in finishing.keys { finishing[device]?.securing.remove(fetch) }
        case .publishing:
            for device in finishing.keys { finishing[device]?.publishing.remove(fetch) }
        case .copy, nil: break
        }
    }

    /// Sends the next batch off when the one before has come back.
    func gatherFinishing() {
        for device in finishing.keys.sorted() {
            guard var lane = finishing[device] else { continue }
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
            finishing[device] = lane.isEmpty ? nil : lane
        }
    }
}
