internal import LonghaulCore
internal import LonghaulSystem
internal import Synchronization

/// Copies of a whole part file for those that share it, a few at a time: one sync for each handful,
/// and whoever has its copy goes on while the next are made.
extension DiskFiles {
    /// Behind each other: two large copies at a time only make the disk seek.
    static let copyingLane: Int64 = -2
    static let closedMeanwhile = LocalFault(code: .io, message: "closed meanwhile")

    func copyJobs(
        _ fetch: FetchID, _ orders: [CopyOrder], _ length: Int64
    ) -> [(key: Int64, job: FileWorkers.Job)] {
        stride(from: 0, to: orders.count, by: Limits.copiesPerBatch).map { start in
            let batch = Array(orders[start...].prefix(Limits.copiesPerBatch))
            return (Self.copyingLane, { self.copy(fetch, batch, length) })
        }
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
        func make(isSecond: Bool) throws(SystemFailure) -> PartFile {
            let name = PartFile.partName(
                for: finalName, id: order.transfer.rawValue, number: order.partsLeft,
                isSecond: isSecond)
            return try PartFile.create(
                name, in: handle, copying: source.descriptor, length: length, sparing: isInUse
            ).file
        }
        do throws(SystemFailure) {
            return try make(isSecond: false)
        } catch {
            // The very file that is copied may have its name: it led the fetch once.
            guard error.isNameInUse else { throw error }
            return try make(isSecond: true)
        }
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
