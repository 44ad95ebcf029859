import LonghaulCore
import LonghaulEngine

/// What a new engine asks for before its first turn, and what others do to the directory.
extension SimDisk {
    func facts(
        part: String, destination: String, madeOn: MountedDisk?, expecting: FileIdentity?
    ) -> FileFacts {
        FileFacts(part: entry(part), destination: entry(destination), mount: mount)
    }

    func takeBack(_ part: OrphanedPart, from destination: String) {
        guard names[part.path] == nil, let inode = names[destination + BadFile.suffix],
            identity(of: inode) == part.identity
        else { return }
        rename(destination + BadFile.suffix, to: part.path, inode)
    }

    /// Here, what has the name is what is written to.
    func clearPart(
        of transfer: TransferID, _ partSuffix: Int, beside destination: String,
        madeSince: Timestamp, sparing recorded: OrphanedPart?
    ) {
        for path in partPaths(destination, transfer, partSuffix) where path != recorded?.path {
            guard let inode = names[path], !open.values.contains(where: { $0.inode == inode })
            else { continue }
            rename(path, to: nil, inode)
            deleted[path] = inode
        }
    }

    private func entry(_ path: String) -> FileFacts.Entry {
        if random.happens(trouble.open / 2) { return .unusable(errno: 5) }
        guard let inode = names[path], let file = files[inode] else { return .missing }
        return .present(identity(of: inode), size: file.data.count)
    }

    private func fault(_ chance: Double) -> LocalFault? {
        guard isReadOnly || random.happens(chance) else { return nil }
        faults += 1
        return LocalFault(code: .io, message: "simulated EIO in recovery")
    }

    func sync(part: String, of fetch: FetchID, expecting identity: FileIdentity) -> LocalFault? {
        guard let inode = names[part], self.identity(of: inode) == identity else { return nil }
        if let fault = fault(trouble.sync) {
            files[inode]?.dirty = ByteRanges()
            distrust(fetch)
            return fault
        }
        flush(inode)
        guard let fault = syncDirectory(of: part, without: nil) else { return nil }
        distrust(fetch)
        return fault
    }

    /// As the board does when a sync has failed: what segments wrote is nobody's to go by.
    func distrust(_ fetch: FetchID) {
        old.removeAll { $0.fetch == fetch && $0.generation != nil }
        for cell in cells.keys where cells[cell]?.fetch == fetch && cells[cell]?.generation != nil {
            cells[cell]?.generation = 0
        }
    }

    func syncDirectory(of path: String, without part: OrphanedPart?) -> LocalFault? {
        if let fault = fault(trouble.directory) { return fault }
        syncNames()
        return nil
    }

    // MARK: - Others

    /// Somebody puts a file of their own there, durably.
    func putForeign(_ path: String) {
        guard names[path] == nil else { return }
        let inode = newInode()
        make(inode, isForeign: true)
        names[path] = inode
        durableNames[path] = inode
        say("somebody's file appears at \(path)")
    }

    func isForeign(_ path: String) -> Bool {
        names[path].flatMap { files[$0]?.isForeign } ?? false
    }

    /// A client deletes what a removed transfer leaves.
    func unlink(_ part: OrphanedPart) {
        guard let inode = names[part.path], holds(part.identity, at: part.path) else { return }
        rename(part.path, to: nil, inode)
    }
}
