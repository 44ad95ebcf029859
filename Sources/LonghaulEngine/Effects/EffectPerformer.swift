internal import LonghaulCore
internal import LonghaulPlatform

/// How long a server may take to delete its data of a cancelled upload.
private let uploadAbortSeconds: Double = 10

/// Performs the effects of a commit, in their order. It decides nothing and waits for nothing.
struct EffectPerformer {
    let files: any FilePort
    let wire: any WirePort
    var batches = FinalizeBatches()
    var aborts = UploadAborts()
    var retention = RetentionPass()

    mutating func perform(_ pending: PendingCommit, _ fetches: ActiveFetches) {
        var orders: [FileOrder] = pending.orders
        var requests: [SegmentRequest] = []
        for (fetch, effect) in pending.effects {
            switch effect {
            case .ask(let ask):
                if let request = request(ask, of: fetches[fetch]) { requests.append(request) }
            case .proceed(let key, let plan): wire.proceed(key, plan)
            case .shrink(let key, let end): wire.shrink(key, end: end)
            case .stop(let keys):
                // A request of this very turn has to be there before it can be stopped.
                if !requests.isEmpty { wire.start(requests) }
                requests = []
                wire.stop(keys)
            case .release(let keys): release(keys, of: fetches[fetch])
            case .prepare(let part):
                wire.expectRequests()
                let fetched = fetches[fetch]?.bytesFetched ?? 0
                orders.append(.prepare(fetch, part, fetched: fetched))
            case .openSource(let path):
                wire.expectRequests()
                let sent = fetches[fetch]?.bytesFetched ?? 0
                orders.append(.openSource(fetch, path: path, fetched: sent))
            case .lookAtSource:
                wire.expectRequests()
                orders.append(.lookAtSource(fetch))
            case .send(let ask):
                if let request = request(ask, of: fetches[fetch]) { requests.append(request) }
            case .reserve(let bytes): orders.append(.reserve(fetch, bytes: bytes))
            case .truncate(let generation):
                orders.append(.truncate(fetch, generation: generation))
            case .sync(let token, let digests, let through):
                orders.append(.sync(fetch, token: token, digests: digests, through: through))
            case .verify(let digests, let length):
                let destination = fetches[fetch]?.machine.frame.finalDestination ?? ""
                orders.append(
                    .verify(fetch, digests, length: length, destination: destination))
            case .digest(let range, let algorithm):
                wire.expectRequests()
                orders.append(.digest(fetch, range, algorithm))
            case .secure(let length):
                batches.secure(fetch, length: length, on: device(of: fetches[fetch]))
            // Begun with the turn that decided it, see ``ActiveFetch/orderCopies()``.
            case .handOut: break
            case .fill(let kept): orders.append(.fill(fetch, kept))
            case .publish(let order):
                batches.publish(fetch, order, on: device(of: fetches[fetch]))
            case .close(let deletingPart):
                orders.append(.close(fetch, deletingPart: deletingPart))
            }
        }
        if !orders.isEmpty { files.submit(orders) }
        if !requests.isEmpty { wire.start(requests) }
        sendBatches()
    }

    /// Sends the batches whose predecessors are on the disk.
    mutating func sendBatches() {
        for order in batches.takeReady() { files.submit([order]) }
    }

    /// Part files that belong to no transfer any more.
    func delete(_ parts: [OrphanedPart]) {
        if !parts.isEmpty { files.submit(parts.map { .delete($0) }) }
    }

    /// The file system that its part file is on.
    private func device(of entry: ActiveFetch?) -> UInt64 {
        entry?.machine.frame.bytes.state.partIdentity?.device ?? 0
    }

    private func release(_ keys: [SegmentKey], of entry: ActiveFetch?) {
        guard let entry else { return }
        for key in keys {
            guard let index = entry.targets.firstIndex(where: { $0.key == key }) else { continue }
            files.release(entry.targets.remove(at: index).target, of: entry.id)
        }
    }

    private func request(_ ask: SegmentAsk, of entry: ActiveFetch?) -> SegmentRequest? {
        guard let entry else { return nil }
        guard
            let target = files.target(
                for: entry.id, generation: entry.machine.frame.bytes.state.generation,
                start: ask.ask.position)
        else { preconditionFailure("a request goes out only while its part file is open") }
        entry.targets.append((ask.key, target))
        let wanted = entry.machine.frame.target.request
        let options = wanted.options
        let isElsewhere = isElsewhere(ask, wanted)
        var headers = isElsewhere ? options.headers.forElsewhere(at: ask.url) : options.headers
        if options.checksum == nil, !headers.contains(DigestField.wanted.name) {
            headers[DigestField.wanted.name] = DigestField.wanted.value
        }
        for field in ask.ask.headers.fields { headers[field.name] = field.value }
        for field in ask.condition.fields { headers[field.name] = field.value }
        if options.s3 != nil, !isElsewhere {
            headers[S3Access.unsignedBody.name] = S3Access.unsignedBody.value
        }
        var proxyFields = HeaderFields()
        proxyFields["Cache-Control"] = ask.ask.headers["Cache-Control"]
        let isHTTP = ask.url.beginsIgnoringCase(with: "http")
        var request = SegmentRequest(
            key: ask.key, url: ask.url, headers: isHTTP ? headers : proxyFields,
            offset: isHTTP ? 0 : ask.ask.start,
            connection: settings(
                options, isElsewhere: isElsewhere, ownConnection: ask.isParallel), target: target,
            end: ask.ask.end, noticeEvery: Limits.checkpointBytes,
            limitRate: entry.machine.rateShare, judge: { ask.verdict($0) })
        request.secrets = secrets(of: options, isElsewhere: isElsewhere)
        if let access = options.s3, !isElsewhere {
            request.signing = signing(access.signature, by: options)
        }
        request.isBackground = wanted.isDiscretionary
        request.yields = options.yields ?? wanted.isDiscretionary
        return request
    }

    /// The keys of a profile are read for each request.
    private func signing(_ signature: String, by options: TransferOptions) -> RequestSigning {
        var signing = RequestSigning(signature)
        if options.user == nil, let profile = options.s3?.profile {
            signing.keys = {
                Result { () throws(S3KeysProblem) in try profile.keys() }
                    .mapError { .noKeys(profile, $0) }
            }
        }
        return signing
    }

    private func request(_ ask: UploadAsk, of entry: ActiveFetch?) -> SegmentRequest? {
        guard let entry else { return nil }
        guard
            let target = files.target(
                for: entry.id, generation: entry.machine.frame.bytes.state.generation,
                start: ask.exchange.range.lowerBound)
        else { preconditionFailure("a request goes out only while its source is open") }
        entry.targets.append((ask.key, target))
        var request = request(ask, by: entry.machine.frame.target.request, target)
        request.limitRate = entry.machine.rateShare
        return request
    }

    private func request(
        _ ask: UploadAsk, by wanted: TransferRequest, _ target: SegmentTarget
    ) -> SegmentRequest {
        let exchange = ask.exchange
        let options = wanted.options
        let isElsewhere = isElsewhere(exchange.url, wanted)
        let isHTTP = exchange.url.beginsIgnoringCase(with: "http")
        var headers = HeaderFields()
        if isHTTP {
            headers = exchange.fields(
                of: isElsewhere
                    ? options.headers.forElsewhere(at: exchange.url) : options.headers)
        }
        for field in exchange.headers.fields { headers[field.name] = field.value }
        var settings = settings(
            options, isElsewhere: isElsewhere,
            ownConnection: exchange.purpose == .whole && !exchange.body.mayRepeat)
        let takesAway = target.descriptor < 0
        if takesAway {
            settings.stallTimeout = min(settings.stallTimeout, uploadAbortSeconds)
            settings.connectTimeout = uploadAbortSeconds
        }
        var request = SegmentRequest(
            key: ask.key, url: exchange.url, headers: headers, connection: settings,
            target: target, noticeEvery: Limits.checkpointBytes,
            judge: { exchange.isRedirected(by: $0) ? .redirect : .keep })
        request.upload = exchange.body
        request.secrets = secrets(of: options, isElsewhere: isElsewhere)
        if let signature = exchange.signature {
            request.signing =
                isElsewhere
                ? RequestSigning(signature) : signing(signature, by: options)
        }
        request.isBackground = wanted.isDiscretionary
        request.yields = options.yields ?? wanted.isDiscretionary
        return request
    }

    mutating func forgetOld(_ writer: StoreWriter, now: Moment) throws(LonghaulError) {
        delete(try retention.run(writer, now: now))
    }

    /// Sends the deletions of abandoned uploads; they need no files.
    mutating func abortUploads(
        _ writer: StoreWriter, isLeaving: Bool, now: Moment, takeSerials: () -> Int64
    ) {
        let begun = aborts.begin(
            writer, isLeaving: isLeaving, now: now, takeSerials: takeSerials)
        if begun.isEmpty { return }
        let target = SegmentTarget(descriptor: -1, cell: 0)
        wire.start(begun.map { request($0.ask, by: $0.request, target) })
    }

    /// Called after the number of its connections has changed. No decision, and need not follow a
    /// commit.
    func divideRate(of entry: ActiveFetch) {
        let share = entry.machine.rateShare
        if share == entry.rateShare { return }
        entry.rateShare = share
        for key in entry.machine.requests { wire.setRate(key, share) }
    }

    /// A mirror at another origin than the request's own URL must not get its credentials.
    private func isElsewhere(_ ask: SegmentAsk, _ wanted: TransferRequest) -> Bool {
        ask.isForMirror && isElsewhere(ask.url, wanted)
    }

    private func isElsewhere(_ url: String, _ wanted: TransferRequest) -> Bool {
        if url == wanted.url { return false }
        guard let own = try? URLParts(wanted.url), let other = try? URLParts(url) else {
            return true
        }
        return own.origin != other.origin
    }

    private func secrets(
        of options: TransferOptions, isElsewhere: Bool
    ) -> (@Sendable () -> Result<RequestSecrets, WireFailure>)? {
        var files = options.secretFiles
        if isElsewhere { (files.headers, files.user) = (nil, nil) }
        if files.isEmpty { return nil }
        return { [files] in
            Result { () throws(SecretFileProblem) in try files.secrets() }
                .mapError { .secretFile($0) }
        }
    }

    private func settings(
        _ options: TransferOptions, isElsewhere: Bool, ownConnection: Bool = false
    ) -> ConnectionSettings {
        var settings = ConnectionSettings()
        if !isElsewhere {
            settings.user = options.user
            settings.clientCertificate = options.clientCertificate
            settings.clientKey = options.clientKey
        }
        settings.authentication = options.authentication
        settings.netrc = options.netrc
        settings.proxy = options.proxy
        settings.proxyVariables = options.proxyVariables
        settings.caCertificate = options.caCertificate
        settings.insecure = options.insecure
        settings.privateAddresses = options.privateAddresses
        settings.stallTimeout = options.stallTimeout
        settings.ownConnection = ownConnection
        return settings
    }
}
