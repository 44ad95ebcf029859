internal import LonghaulCore

/// Group commit: while one batch is on the disk, the next one gathers. Each file system has its own
/// batches, so that a slow disk holds up only its own files.
struct FinalizeBatches {
    /// Keyed by the device numbers of the file systems.
    private var byDevice: [UInt64: FinalizeBatch] = [:]

    mutating func secure(_ fetch: FetchID, length: Int64, on device: UInt64) {
        batch(device).toSecure.append((fetch, length))
    }

    mutating func publish(_ fetch: FetchID, _ order: PublicationOrder, on device: UInt64) {
        batch(device).toPublish.append((fetch, order))
    }

    private mutating func batch(_ device: UInt64) -> FinalizeBatch {
        if let batch = byDevice[device] { return batch }
        let batch = FinalizeBatch()
        byDevice[device] = batch
        return batch
    }

    /// An outcome frees its place in the batch.
    func settle(_ event: FetchEvent, of fetch: FetchID) {
        switch event.settles {
        case .securing: for batch in byDevice.values { batch.securing.remove(fetch) }
        case .publishing: for batch in byDevice.values { batch.publishing.remove(fetch) }
        case .copy, nil: break
        }
    }

    /// The batches whose predecessor is on the disk.
    mutating func takeReady() -> [FileOrder] {
        if byDevice.isEmpty { return [] }
        var orders: [FileOrder] = []
        for (device, batch) in byDevice.sorted(by: { $0.key < $1.key }) {
            orders += batch.takeReady()
            if batch.isEmpty { byDevice[device] = nil }
        }
        return orders
    }
}

/// The batches of one file system. A reference: an outcome removes one of hundreds.
private final class FinalizeBatch {
    var toSecure: [(FetchID, Int64)] = []
    var securing: Set<FetchID> = []
    var toPublish: [(FetchID, PublicationOrder)] = []
    var publishing: Set<FetchID> = []

    var isEmpty: Bool {
        toSecure.isEmpty && securing.isEmpty && toPublish.isEmpty && publishing.isEmpty
    }

    func takeReady() -> [FileOrder] {
        var orders: [FileOrder] = []
        if securing.isEmpty, !toSecure.isEmpty {
            securing = Set(toSecure.map(\.0))
            orders.append(.secure(toSecure))
            toSecure = []
        }
        if publishing.isEmpty, !toPublish.isEmpty {
            publishing = Set(toPublish.map(\.0))
            orders.append(.publish(toPublish))
            toPublish = []
        }
        return orders
    }
}
