internal import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform

/// Requests whose snapshots are made. These are deleted if the requests are not recorded.
package final class PreparedRequests {
    package fileprivate(set) var requests: [TransferRequest]
    /// Locked while in this list.
    fileprivate var snapshots: [PartFile] = []

    fileprivate init(_ requests: [TransferRequest]) {
        self.requests = requests
    }
}

/// Makes the snapshots that uploads send, and deletes unused ones. The engine deletes the snapshot
/// of an upload that has ended; leftovers of a crash are deleted here.
struct Snapshots {
    private let store: Store
    private let directory: SnapshotDirectory

    init(_ store: Store, in stateDirectory: String) {
        self.store = store
        directory = SnapshotDirectory(in: stateDirectory)
    }

    /// The snapshot of standard input is what comes until its end.
    ///
    /// - Parameter copying: Called with path and length before a file is copied because its blocks
    ///   cannot be shared, and before standard input is read, with length 0.
    /// - Throws: a refusal of a request that wants a snapshot; `noSpace`, `io`, `permission`,
    ///   `sourceChanged` if its snapshot cannot be made. Then no request has a snapshot.
    func prepare(
        _ requests: [TransferRequest], copying: (String, Int64) -> Void
    ) throws(LonghaulError) -> PreparedRequests {
        let prepared = PreparedRequests(requests)
        guard requests.contains(where: \.wantsSnapshot) else { return prepared }
        sweep()
        var validator = RequestValidator()
        do throws(LonghaulError) {
            for index in requests.indices where requests[index].wantsSnapshot {
                // A file whose request would be refused is not copied.
                if requests[index].destination == .file(UploadPlace.standardInput) {
                    try spool(for: index, of: prepared, &validator, copying)
                    continue
                }
                var request = requests[index]
                request.options.upload?.snapshot = false
                guard case .insert(let new) = try validator.admit(request) else { continue }
                let file = try make(of: new.path, copying)
                prepared.snapshots.append(file)
                prepared.requests[index].options.upload?.snapshotPath = file.path
            }
        } catch {
            release(prepared)
            throw error
        }
        return prepared
    }

    /// After the requests were recorded, or not.
    func release(_ prepared: PreparedRequests) {
        let names = prepared.snapshots.map(\.name)
        prepared.snapshots = []
        if !names.isEmpty { sweep(names) }
    }

    /// Deletes what no transfer sends.
    func sweep(_ names: [String]? = nil) {
        directory.sweep(names) { path in
            (try? store.transfers.hasSnapshot(at: path)) ?? true
        }
    }

    private func make(
        of path: String, _ copying: (String, Int64) -> Void
    ) throws(LonghaulError) -> PartFile {
        var size: Int64 = 0
        do throws(SystemFailure) {
            let source = try SourceFile(path)
            size = source.version.size
            return try directory.add(source) { copying(path, size) }
        } catch {
            throw refusal(error, of: path, size)
        }
    }

    private func spool(
        for index: Int, of prepared: PreparedRequests, _ validator: inout RequestValidator,
        _ copying: (String, Int64) -> Void
    ) throws(LonghaulError) {
        if let defect = CommandStream.standardInputDefect {
            throw LonghaulError(
                .invalidRequest, "standard input cannot be read: \(defect); give a file or a pipe")
        }
        do throws(SystemFailure) {
            let file = try directory.create()
            prepared.snapshots.append(file)
            prepared.requests[index].options.upload?.snapshotPath = file.path
        } catch {
            throw error.longhaulError()
        }
        _ = try validator.admit(prepared.requests[index])
        copying(UploadPlace.standardInput, 0)
        guard let file = prepared.snapshots.last else { return }
        do throws(SystemFailure) {
            try directory.fillFromStandardInput(file)
        } catch {
            if error.code != .noSpace { throw error.longhaulError() }
            throw LonghaulError(
                .noSpace,
                "the disk of \(directory.path) has no room for the whole of standard input; free "
                    + "some space, or choose a state directory on another disk (LONGHAUL_HOME)")
        }
    }

    private func refusal(
        _ failure: SystemFailure, of path: String, _ size: Int64
    ) -> LonghaulError {
        if failure.code == .noSpace {
            return LonghaulError(
                .noSpace,
                "the disk of \(directory.path) has no room for a snapshot of \(path) "
                    + "(\(SizeText.shown(size))); free some space, or leave out --snapshot")
        }
        if failure.isOfChangedSource {
            return LonghaulError(
                .sourceChanged,
                "\(path) was changed while its snapshot was copied; try again when nothing writes "
                    + "to it")
        }
        return failure.longhaulError()
    }
}

extension TransferRequest {
    fileprivate var wantsSnapshot: Bool { options.upload?.snapshot == true }
}
