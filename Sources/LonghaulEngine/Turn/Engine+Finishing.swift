internal import LonghaulCore

/// The batches in which files are made durable and named, a batch at a time. Each file system has
/// one: a disk that is slow holds up nobody else's files.
extension Engine {
    /// In the batch of the file system that its part file is on.
    func batch(of fetch: FetchID) -> FinalizeBatch {
        let device = active[fetch]?.machine.state.partIdentity?.device ?? 0
        if let batch = finishing[device] { return batch }
        let batch = FinalizeBatch()
        finishing[device] = batch
        return batch
    }

    /// An outcome frees its place in the batch.
    func settleLane(_ event: FetchEvent, _ fetch: FetchID) {
        switch event.settles {
        case .securing:
            for batch in finishing.values { batch.securing.remove(fetch) }
        case .publishing:
            for batch in finishing.values { batch.publishing.remove(fetch) }
        case .copy, nil: break
        }
    }

    /// Sends the next batch off when the one before has come back.
    func gatherFinishing() {
        for (device, batch) in finishing.sorted(by: { $0.key < $1.key }) {
            if batch.securing.isEmpty, !batch.toSecure.isEmpty {
                batch.securing = Set(batch.toSecure.map(\.0))
                files.submit([.secure(batch.toSecure)])
                batch.toSecure = []
            }
            if batch.publishing.isEmpty, !batch.toPublish.isEmpty {
                batch.publishing = Set(batch.toPublish.map(\.0))
                files.submit([.publish(batch.toPublish)])
                batch.toPublish = []
            }
            if batch.isEmpty { finishing[device] = nil }
        }
    }
}
