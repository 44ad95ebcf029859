internal import CLonghaul
internal import Glibc
package import LonghaulModel

/// Number of files of one file system from which one syncfs replaces one fdatasync per file.
private let wholeFilesystemFiles = 4

/// Finishes many files with few syncs, in two calls, so that the caller can commit between them:
///
/// 1. ``makeDurable(_:)``: every file's content reaches the disk;
/// 2. ``publish(_:)``: every file gets its name, then every directory is synced once.
///
/// After a crash between the two, the part files are there, complete. After a crash within the
/// second, each file has one of its names.
package enum GroupCommit {
    /// Returns one result per item, in order: `nil` = its content is durable. A file with a failure
    /// must not be published, and its bytes since the last checkpoint are unknown
    /// (``PartFile/sync()``).
    package static func makeDurable(_ items: [FinishItem]) -> [SystemFailure?] {
        let parts = items.map(\.part)
        return makeDurable(parts.map(\.identity.device)) {
            syncWhole(parts[$0].descriptor)
        } sync: { index throws(SystemFailure) in
            try parts[index].syncContent()
        }
    }

    /// The same for files of other programs, with their times. One that cannot be opened has no
    /// failure.
    package static func makeDurable(
        sources: [(path: String, version: SourceVersion)]
    ) -> [SystemFailure?] {
        makeDurable(sources.map(\.version.device)) {
            (try? SourceFile(sources[$0].path)).map { syncWhole($0.descriptor) } ?? false
        } sync: { index throws(SystemFailure) in
            try (try? SourceFile(sources[index].path))?.sync()
        }
    }

    private static func makeDurable(
        _ devices: [UInt64], syncWhole: (Int) -> Bool, sync: (Int) throws(SystemFailure) -> Void
    ) -> [SystemFailure?] {
        var answers = [SystemFailure?](repeating: nil, count: devices.count)
        for group in Dictionary(grouping: devices.indices, by: { devices[$0] }).values {
            if group.count >= wholeFilesystemFiles, syncWhole(group[0]) { continue }
            for index in group {
                do throws(SystemFailure) {
                    try sync(index)
                } catch {
                    answers[index] = error
                }
            }
        }
        return answers
    }

    /// Returns one result per item, in order. Pass only items with a `nil` result of
    /// ``makeDurable(_:)``.
    package static func publish(_ items: [FinishItem]) -> [FinishOutcome] {
        var outcomes = items.map { Publication.publish($0.part, as: $0.name, policy: $0.policy) }
        var synced: [FileIdentity: SystemFailure?] = [:]
        for (index, item) in items.enumerated() {
            guard case .published = outcomes[index] else { continue }
            let directory = item.part.directory
            let failure: SystemFailure?
            if let known = synced[directory.identity] {
                failure = known
            } else {
                failure = directory.syncFailure()
                synced[directory.identity] = .some(failure)
            }
            if let failure { outcomes[index] = .failed(failure) }
        }
        return outcomes
    }

    // MARK: -

    /// `false` on FUSE, whose daemon receives fsync of a file, but no syncfs. Since Linux 5.8
    /// syncfs reports write errors of the whole file system, without naming the file. So after any
    /// error every file is synced on its own: each descriptor still reports its own file's error
    /// once.
    static func syncWhole(_ descriptor: Int32) -> Bool { lh_syncfs(descriptor) == 0 }
}

extension DirectoryHandle {
    fileprivate func syncFailure() -> SystemFailure? {
        do {
            try sync()
            return nil
        } catch {
            return error
        }
    }
}
