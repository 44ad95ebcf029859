import LonghaulCore
import LonghaulEngine

extension SimDisk {
    /// A copy for each that shares the file; the crash may come between any two.
    func copy(_ fetch: FetchID, _ orders: [CopyOrder]) {
        guard let source = open[fetch]?.inode, let data = files[source]?.data else {
            let fault = LocalFault(code: .io, message: "closed meanwhile")
            outcomes += orders.map { (fetch, .copyFailed($0.transfer, fault)) }
            return
        }
        for order in orders {
            guard mayAct() else { return }
            let directory = String(order.destination.dropFirst().prefix { $0 != "/" })
            let path = freePartPath(order.destination, order.transfer, order.partSuffix)
            var fault = copiesFail[directory]
            if fault == nil, random.happens(trouble.open) || isReadOnly {
                fault = LocalFault(code: .io, message: "copy: simulated")
            }
            if let fault {
                outcomes.append((fetch, .copyFailed(order.transfer, fault)))
                continue
            }
            if let old = names[path] { rename(path, to: nil, old) }
            let inode = newInode()
            make(inode, data: data)
            rename(nil, to: path, inode)
            guard mayAct() else { return }
            flush(inode)
            syncNames()
            outcomes.append(
                (fetch, .copied(order.transfer, identity(of: inode), path: path)))
        }
    }

    /// The transfer's own part name, unless a fetch that it has left is in use under that.
    func freePartPath(_ destination: String, _ id: TransferID, _ left: Int) -> String {
        let paths = partPaths(destination, id, left)
        let isInUse = open.values.contains { names[paths[0]] == $0.inode }
        return paths[isInUse ? 1 : 0]
    }

    func partPaths(_ destination: String, _ id: TransferID, _ left: Int) -> [String] {
        let name = "\(destination).\(id)" + (left > 0 ? "-\(left)" : "")
        return [name + ".part", name + "b.part"]
    }

    func fill(_ fetch: FetchID, _ kept: KeptFile) {
        guard let inode = open[fetch]?.inode else { return }
        guard holds(kept.identity, at: kept.path), let source = files[kept.identity.inode],
            source.data.count == kept.length, !source.isForeign
        else {
            outcomes.append((fetch, .fillFailed(LocalFault(code: .io, message: "stale"))))
            return
        }
        files[inode]?.data = source.data
        files[inode]?.dirty = ByteRanges(0..<source.data.count)
        flush(inode)
        syncNames()
        outcomes.append((fetch, .filled()))
    }
}
