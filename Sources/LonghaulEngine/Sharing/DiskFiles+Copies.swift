internal import LonghaulCore
internal import LonghaulPlatform
internal import Synchronization

/// Copies of a whole part file for those that share it, a few at a time: one sync for each handful,
/// and whoever has its copy goes on while the next are made.
extension DiskFiles {
    static let closedMeanwhile = LocalFault(code: .io, message: "closed meanwhile")

    /// Behind each other on each disk: two large copies at a time only make it seek. Which disk it
    /// is that a directory is on is found out on a disk thread, and for each on its own: the answer
    /// may never come.
    func copyJobs(
        _ fetch: FetchID, _ orders: [CopyOrder], _ length: Int64
    ) -> [FileWorkers.Work] {
        let byDirectory = Dictionary(grouping: orders) { FileNaming.directory(of: $0.destination) }
        return byDirectory.map { directory, orders in
            let guess = UInt64(bitPattern: Int64(directory.hashValue))
            return FileWorkers.Work(key: DiskQueue.locating.key(guess), disk: guess) {
                let disk = self.disk(of: directory)
                self.workers.submit(
                    stride(from: 0, to: orders.count, by: Limits.copiesPerBatch).map { start in
                        let batch = Array(orders[start...].prefix(Limits.copiesPerBatch))
                        return FileWorkers.Work(key: DiskQueue.copying.key(disk), disk: disk) {
                            self.copy(fetch, batch, length)
                        }
                    })
            }
        }
    }

    /// `nil`: whoever wants to write there is told why not.
    private func disk(of directory: String) -> UInt64? {
        (try? directories.handle(for: directory, creating: true))?.identity.device
    }

    func copy(_ fetch: FetchID, _ orders: [CopyOrder], _ length: Int64) {
        var made: [(order: CopyOrder, item: FinishItem)] = []
        for order in orders {
            // Whoever closed it wants no more copies, and waits for an answer.
            guard let source = part(fetch) else {
                report(fetch, .copyFailed(order.transfer, Self.closedMeanwhile))
                continue
            }
            do throws(SystemFailure) {
                if let fault = try gap(in: source, before: length) {
                    report(fetch, .copyFailed(order.transfer, fault))
                    continue
                }
                let file = try copy(of: source, order, length)
                made.append((order, FinishItem(part: file, name: file.name, policy: .fail)))
            } catch {
                report(fetch, .copyFailed(order.transfer, LocalFault(error)))
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
                report(fetch, .copyFailed(order.transfer, fault))
            } else {
                report(
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
        let handle = try directories.handle(for: directory, creating: true)
        // It has bytes before anybody records that it is there: what a crash leaves of it is known
        // by its name alone. And the very file that is copied may have the usual one.
        let names = names(finalName, order.transfer, order.partSuffix).filter(\.isOneStores)
        return try PartFile.create(
            names, in: handle, copying: source.descriptor, length: length, sparing: isInUse
        ).file
    }

    /// Some fetch, under way now, has its bytes in this file.
    func isInUse(_ identity: FileIdentity) -> Bool {
        open.withLock { $0.values.contains { $0.part.identity == identity } }
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
