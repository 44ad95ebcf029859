internal import LonghaulCore
internal import LonghaulStore

/// Renews the keys of uploads that failed for them.
struct KeyRenewal {
    let queue: TransferQueue

    /// Signed uploads whose keys were refused get those of this environment. A profile stays unless
    /// the environment names keys or another one.
    func renew(_ selection: TransferSelection) throws(LonghaulError) {
        let location = S3Location()
        for transfer in try failed(selection) {
            guard var upload = transfer.options.upload, upload.isSigned,
                transfer.state == .failed,
                [.unauthorized, .forbidden].contains(transfer.error?.code),
                location.namesKeys || transfer.options.user != nil
            else { continue }
            var request = TransferRequest(url: transfer.url, destination: .file(""))
            upload.profile = nil
            request.options.upload = upload
            // Without any, the transfer says again what is wrong with its own.
            guard let found = try? location.withKeys(request).options else { continue }
            let token = found.headers[S3Keys.tokenField]
            let isSame =
                found.user == transfer.options.user
                && found.upload?.profile == transfer.options.upload?.profile
                && token == transfer.options.headers[S3Keys.tokenField]
            if isSame { continue }
            var change = RequestChange()
            change.editOptions = { options throws(LonghaulError) in
                options.user = found.user
                options.headers[S3Keys.tokenField] = token
                options.upload?.profile = found.upload?.profile
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
