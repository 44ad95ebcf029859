internal import LonghaulCore

/// The lane in which files are made durable and named, a batch at a time.
extension Engine {
    /// An outcome frees its place in the lane.
    func settleLane(_ event: FetchEvent, _ fetch: FetchID) {
        switch event {
        case .secured, .secureFailed: finishing.securing.remove(fetch)
        case .published, .occupied, .publishFailed, .displaced: finishing.publishing.remove(fetch)
        case .prepared, .prepareFailed, .reserved, .reserveFailed, .truncated, .truncateFailed,
            .head, .progress, .ended, .synced, .syncFailed, .verified, .mismatched, .verifyFailed,
            .foundPublished, .copied, .copyFailed, .handedOut, .filled, .fillFailed, .leave, .tick:
            break
        }
    }

    /// Sends the next batch off when the one before has come back.
    func gatherFinishing() {
        if finishing.securing.isEmpty, !finishing.toSecure.isEmpty {
            finishing.securing = Set(finishing.toSecure.map(\.0))
            files.submit([.secure(finishing.toSecure)])
            finishing.toSecure = []
        }
        if finishing.publishing.isEmpty, !finishing.toPublish.isEmpty {
            finishing.publishing = Set(finishing.toPublish.map(\.0))
            files.submit([.publish(finishing.toPublish)])
            finishing.toPublish = []
        }
    }
}
