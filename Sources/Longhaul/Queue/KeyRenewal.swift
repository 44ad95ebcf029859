internal import LonghaulCore
internal import LonghaulStore

/// Renews the keys for S3 of transfers that failed for them.
struct KeyRenewal {
    let queue: TransferQueue

    /// Signed transfers whose keys were refused get this environment's keys. A profile stays unless
    /// the environment names keys or another one, and so do keys that `set` has given meanwhile.
    func renew(_ selection: TransferSelection) throws(LonghaulError) {
        let location = S3Location()
        for transfer in try failed(selection) {
            guard let access = transfer.options.s3, transfer.state == .failed,
                [.unauthorized, .forbidden].contains(transfer.error?.code),
                location.namesKeys || transfer.options.user != nil && !transfer.hasNewKeys
            else { continue }
            var request = TransferRequest(url: transfer.url, destination: .file(""))
            request.options.s3 = S3Access(region: access.region)
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
        guard let chosen = options.s3?.keysChosenAt, let finishedAt else { return false }
        return chosen >= finishedAt
    }
}
