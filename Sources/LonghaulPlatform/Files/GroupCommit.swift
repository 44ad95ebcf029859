internal import CLonghaul
internal import Glibc
internal import LonghaulModel

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
        var answers = [SystemFailure?](repeating: nil, count: items.count)
        let byDevice = Dictionary(grouping: items.indices) { items[$0].part.identity.device }
        for group in byDevice.values {
            if group.count >= wholeFilesystemFiles, syncWhole(items[group[0]].part) {
                continue
            }
            for index in group { answers[index] = sync(items[index].part) }
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
    static func syncWhole(_ part: PartFile) -> Bool {
        lh_syncfs(part.descriptor) == 0
    }

    private static func sync(_ part: PartFile) -> SystemFailure? {
        do {
            try part.syncContent()
            return nil
        } catch {
            return error
        }
    }
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
