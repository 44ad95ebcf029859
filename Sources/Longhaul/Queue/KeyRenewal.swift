internal import LonghaulCore
internal import LonghaulStore

/// Renews the keys of uploads that failed for them.
struct KeyRenewal {
    let queue: TransferQueue

    /// Signed uploads whose keys were refused get this environment's keys. A profile stays unless
    /// the environment names keys or another one, and so do keys that `set` has given meanwhile.
    func renew(_ selection: TransferSelection) throws(LonghaulError) {
        let location = S3Location()
        for transfer in try failed(selection) {
            guard var upload = transfer.options.upload, upload.isSigned,
                transfer.state == .failed,
                [.unauthorized, .forbidden].contains(transfer.error?.code),
                location.namesKeys || transfer.options.user != nil && !transfer.hasNewKeys
            else { continue }
            var request = TransferRequest(url: transfer.url, destination: .file(""))
            upload.profile = nil
            request.options.upload = upload
            // Without keys, the transfer fails again with its own error.
            guard let found = try? location.withKeys(request),
                S3FoundKeys(of: found.options) != S3FoundKeys(of: transfer.options)
            else { continue }
            var change = RequestChange()
            change.editOptions = { options throws(LonghaulError) in
                S3FoundKeys(of: found.options).apply(to: &options)
            }
            try queue.store.wants.change(transfer.id, change, now: queue.now)
        }
    }

    private func failed(_ selection: TransferSelection) throws(LonghaulError) -> [Transfer] {
        var filter = TransferFilter()
        filter.states = [.failed]
        filter.includeAll = true
        switch selection {
        case .ids(let ids): return try queue.transfers(ids)
        case .session(let name): filter.session = name
        case .all: break
        }
        return try queue.transfers(filter)
    }
}

extension Transfer {
    /// `set` has given it keys since others were refused.
    fileprivate var hasNewKeys: Bool {
        guard let chosen = options.upload?.keysChosenAt, let finishedAt else { return false }
        return chosen >= finishedAt
    }
}
