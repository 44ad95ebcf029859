internal import LonghaulCore
internal import LonghaulPlatform

/// Copies that are made and synced together.
private let copiesPerBatch = 8

/// Copies a whole part file for the transfers that share it. A few copies per batch: one sync
/// serves a batch, and a transfer that has its copy continues while the next ones are made.
struct FileCopier {
    let parts: OpenParts
    let workers: FileWorkers

    /// Copies run one after the other on each disk: two large copies at a time only make it seek. A
    /// disk thread finds out the disk of each directory by itself: a disk that hangs never answers.
    func jobs(
        _ fetch: FetchID, _ orders: [CopyOrder], _ length: Int64
    ) -> [FileWorkers.Work] {
        let byDirectory = Dictionary(grouping: orders) { FileNaming.directory(of: $0.destination) }
        return byDirectory.map { directory, orders in
            let guess = UInt64(bitPattern: Int64(directory.hashValue))
            return FileWorkers.Work(key: DiskQueue.locating.key(guess), disk: guess) {
                let device = device(of: directory)
                workers.submit(
                    stride(from: 0, to: orders.count, by: copiesPerBatch).map { start in
                        let batch = Array(orders[start...].prefix(copiesPerBatch))
                        return FileWorkers.Work(
                            key: DiskQueue.copying.key(device), disk: device
                        ) {
                            copy(fetch, batch, length)
                        }
                    })
            }
        }
    }

    /// `nil` = it cannot be opened: each copy to it fails with the reason.
    private func device(of directory: String) -> UInt64? {
        (try? parts.directories.handle(for: directory, creating: true))?.identity.device
    }

    private func copy(_ fetch: FetchID, _ orders: [CopyOrder], _ length: Int64) {
        var made: [(order: CopyOrder, item: FinishItem)] = []
        for order in orders {
            // A fetch that was closed wants no more copies, and waits for an answer.
            guard let source = parts.file(of: fetch) else {
                parts.report(fetch, .copyFailed(order.transfer, OpenParts.closedMeanwhile))
                continue
            }
            do throws(SystemFailure) {
                if let fault = try PartChecks.gap(in: source, before: length) {
                    parts.report(fetch, .copyFailed(order.transfer, fault))
                    continue
                }
                let file = try copy(of: source, order, length)
                made.append((order, FinishItem(part: file, name: file.name, policy: .fail)))
            } catch {
                parts.report(fetch, .copyFailed(order.transfer, LocalFault(error)))
            }
        }
        let failures = GroupCommit.makeDurable(made.map(\.item))
        var synced: [FileIdentity: LocalFault?] = [:]
        for ((order, item), failure) in zip(made, failures) {
            let directory = item.part.directory
            let known = synced[directory.identity]
            let fault = failure.map { LocalFault($0) } ?? known ?? syncName(of: item.part)
            if failure == nil { synced[directory.identity] = .some(fault) }
            if let fault {
                try? item.part.remove()
                parts.report(fetch, .copyFailed(order.transfer, fault))
            } else {
                parts.report(
                    fetch,
                    .copied(
                        order.transfer, item.part.identity, path: item.part.path,
                        mountPoint: directory.mountPoint))
            }
        }
    }

    private func copy(
        of source: PartFile, _ order: CopyOrder, _ length: Int64
    ) throws(SystemFailure) -> PartFile {
        guard let (directory, finalName) = PathParts.split(order.destination) else {
            throw SystemFailure(operation: "open", path: order.destination, errno: 2)
        }
        let handle = try parts.directories.handle(for: directory, creating: true)
        // The copy has bytes before it is recorded: after a crash it is known by its name alone.
        // The file that is copied may have the usual name.
        let names = parts.names(finalName, order.transfer, order.partSuffix).filter(\.isOneStores)
        return try handle.making(finalName) { () throws(SystemFailure) in
            try PartFile.create(
                names, in: handle, copying: source.descriptor, length: length,
                sparing: parts.isInUse
            ).file
        }
    }

    private func syncName(of part: PartFile) -> LocalFault? {
        do throws(SystemFailure) {
            try part.directory.sync()
            return nil
        } catch {
            return LocalFault(error)
        }
    }
}
