import LonghaulCore
import LonghaulEngine

/// The files that uploads send. Their owners change them as they like.
struct SimSources {
    struct File {
        var version: SourceVersion
        var bytes: SimBytes
    }

    struct Open {
        var inode: UInt64
        /// As it was when it was opened: what the upload is of.
        var version: SourceVersion
        var cell: UInt
    }

    private(set) var files: [UInt64: File] = [:]
    /// What has been read of an older version may still be on its way.
    private(set) var contents: [SourceVersion: SimBytes] = [:]
    private var names: [String: UInt64] = [:]
    /// Of the engine that lives.
    var open: [FetchID: Open] = [:]
    /// Apart from those of part files.
    private var nextInode: UInt64 = 1_000_000
    private var changes: Int64 = 0

    func file(at path: String) -> File? { names[path].flatMap { files[$0] } }

    func version(openBy fetch: FetchID) -> SourceVersion? { open[fetch]?.version }

    func inode(at path: String) -> UInt64? { names[path] }

    /// Another file gets the name; whoever has opened the one before still reads that.
    mutating func put(_ bytes: SimBytes, at path: String) {
        nextInode += 1
        names[path] = nextInode
        write(bytes, to: nextInode)
    }

    /// The same file has other content from now on.
    mutating func change(_ bytes: SimBytes, at path: String) {
        if let inode = names[path] { write(bytes, to: inode) }
    }

    private mutating func write(_ bytes: SimBytes, to inode: UInt64) {
        changes += 1
        let version = SourceVersion(
            device: 1, inode: inode, size: bytes.count, modified: changes, changed: changes)
        files[inode] = File(version: version, bytes: bytes)
        contents[version] = bytes
    }
}

extension SimDisk {
    func openSource(_ fetch: FetchID, _ path: String, sent: Int64) {
        if random.happens(trouble.open) {
            faults += 1
            let fault = LocalFault(code: .io, message: "open: simulated EIO")
            return outcomes.append((fetch, .prepareFailed(fault)))
        }
        guard let inode = sources.inode(at: path), let file = sources.files[inode] else {
            let fault = LocalFault(code: .sourceChanged, message: "the file is gone")
            return outcomes.append((fetch, .prepareFailed(fault)))
        }
        nextCell += 64
        cells[nextCell] = Cell(
            fetch: fetch, generation: nil, start: 0, written: 0, received: sent)
        sources.open[fetch] = SimSources.Open(
            inode: inode, version: file.version, cell: nextCell)
        outcomes.append((fetch, .opened(file.version)))
    }

    func lookAtSource(_ fetch: FetchID) {
        guard let open = sources.open[fetch], let file = sources.files[open.inode] else { return }
        outcomes.append((fetch, .looked(file.version, hasWriter: false)))
    }

    /// `false` = it has none open.
    func closeSource(_ fetch: FetchID, deleting: Bool) -> Bool {
        guard sources.open.removeValue(forKey: fetch) != nil else { return false }
        precondition(!deleting, "the file of an upload is its owner's")
        cells = cells.filter { $0.value.fetch != fetch }
        return true
    }
}
