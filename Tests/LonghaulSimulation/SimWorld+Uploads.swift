import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// What is expected of an upload, by its URL.
struct SimUpload {
    let source: String
    /// What the server may have, and nothing else.
    var versions: [SimBytes]
    let ifChanged: SourceChangePolicy
    /// It may be carried out twice.
    let mayRepeat: Bool
    var hasChanged = false
    /// The fetches whose POST the server has carried out.
    var posts: Set<FetchID> = []
}

/// A life of transfers that send files: sources that change, servers that forget and move back,
/// lost answers, kills at any effect.
extension SimWorld {
    func liveWithUploads(steps: Int = 140) throws {
        trouble = SimTrouble(&random)
        // What stands in the way of a file that comes.
        trouble.foreign = 0
        say("\(trouble)")
        disk.trouble = trouble
        wire.trouble = trouble
        wire.servers.trouble = trouble
        wire.servers.random = SeededGenerator(seed: random.next())
        wire.servers.source = { [unowned self] in disk.sources.version(openBy: $0) }
        wire.servers.mayPublish = { [unowned self] in published($1, at: $0, by: $2) }
        try drawLimits()
        for _ in 0..<Int.random(in: 1...6, using: &random) { try enqueueUpload() }
        for _ in 0..<steps { try stepInTrouble() }
        try makePeace()
        try checkAtRest()
        try checkNothingIsLeft()
        finishTally()
    }

    // MARK: - Clients

    func enqueueUpload() throws {
        let (url, place) = makePlace()
        let source = "/u/f\(nextURL)"
        let bytes = SimBytes(label: nextLabel, count: drawSize())
        nextLabel += 1
        disk.sources.put(bytes, at: source)
        var upload = UploadOptions()
        upload.uploadProtocol = way(to: place)
        switch upload.uploadProtocol {
        case .put: upload.method = .put
        case .post: upload.method = .post
        case .auto: upload.method = random.happens(0.2) ? .post : nil
        case .ietf, .tus: break
        case .s3: upload.partSize = SimUploadServer.partLeast
        }
        upload.isRepeatable = random.happens(0.3)
        upload.ifChanged = random.happens(0.4) ? .restart : .fail
        upload.source = disk.sources.file(at: source)?.version
        var request = TransferRequest(url: url, destination: .file(source))
        request.options.upload = upload
        request.expectedBytes = bytes.count
        drawCircumstances(&request)
        uploads[url] = SimUpload(
            source: source, versions: [bytes], ifChanged: upload.ifChanged,
            mayRepeat: upload.isRepeatable)
        try record(request, to: url, from: source)
        // Another session asks for the same, and joins.
        guard random.happens(0.3) else { return }
        request.session = "other"
        try record(request, to: url, from: source)
    }

    private func record(
        _ request: TransferRequest, to url: String, from source: String
    ) throws {
        let new = NewTransfer(
            request: request, origin: SimWire.origin(of: url), source: source,
            reservation: Reservation("\n\(request.session)\n\(url)"))
        guard case .recorded(let id, _)? = try record(new) else { return }
        var transfer = SimTransfer(url: url, destination: source, policy: .fail)
        transfer.isUpload = true
        transfer.isExempt = true
        expect(id, transfer, request)
    }

    private func drawSize() -> Int64 {
        let most: Int64 = [0, 30_000, 30_000, 2_000_000, 40_000_000].randomElement(using: &random)!
        return Int64.random(in: most / 20...most, using: &random)
    }

    /// A URL that takes an upload.
    private func makePlace() -> (url: String, SimUploadServer.Place) {
        let dialect: SimDialect = [.plain, .ietf9, .ietf9, .ietf8, .ietf6, .tus, .tus, .s3]
            .randomElement(using: &random)!
        let url = "http://s\(nextURL % 2).test/u\(nextURL)"
        nextURL += 1
        var place = SimUploadServer.Place(
            dialect: dialect, tells: random.happens(0.5), namesVersion: random.happens(0.5))
        if dialect.interopVersion != nil, dialect != .ietf6, random.happens(0.3) {
            place.appendLimit = Int64.random(in: 3_000_000...20_000_000, using: &random)
        }
        place.rate = [20_000, 400_000, 3_000_000, 20_000_000].randomElement(using: &random)!
        wire.servers.places[url] = place
        return (url, place)
    }

    private func way(to place: SimUploadServer.Place) -> UploadProtocol {
        switch place.dialect {
        case .plain: [.put, .post, .auto, .auto].randomElement(using: &random)!
        case .ietf9, .ietf8, .ietf6:
            // Nothing is sent by the draft to a server that does not tell that it speaks it.
            place.tells ? [.ietf, .auto].randomElement(using: &random)! : .auto
        case .tus: [.tus, .auto].randomElement(using: &random)!
        case .s3: .s3
        }
    }

    // MARK: - Trouble

    func changeUploads() {
        if random.happens(trouble.change) { changeSource() }
        let addresses = wire.servers.resources.keys.sorted()
        if random.happens(trouble.gone), let address = addresses.randomElement(using: &random) {
            say("\(address) is forgotten")
            wire.servers.forget(address)
        }
        if random.happens(trouble.move), let address = addresses.randomElement(using: &random) {
            wire.servers.moveBack(address)
            say("\(address) is back at \(wire.servers.resources[address]?.bytes.count ?? 0)")
        }
        if random.happens(trouble.gone),
            let url = uploads.keys.sorted().randomElement(using: &random)
        {
            let isRefused = wire.servers.places[url]?.refusal != nil
            let refusal = isRefused ? nil : [401, 403, 404, 413, 507].randomElement(using: &random)
            wire.servers.places[url]?.refusal = refusal
            say("\(url) answers \(refusal.map(String.init) ?? "again")")
        }
    }

    private func changeSource() {
        guard let url = uploads.keys.sorted().randomElement(using: &random),
            let upload = uploads[url]
        else { return }
        let bytes = SimBytes(label: nextLabel, count: drawSize())
        nextLabel += 1
        if Bool.random(using: &random) {
            disk.sources.put(bytes, at: upload.source)
        } else {
            disk.sources.change(bytes, at: upload.source)
        }
        say("\(upload.source) changes to \(bytes)")
        for (url, other) in uploads where other.source == upload.source {
            uploads[url]?.hasChanged = true
            if upload.ifChanged == .restart { uploads[url]?.versions.append(bytes) }
            wire.servers.voidResources(at: url)
        }
    }

    /// Another URL of the same server, which speaks the same.
    func moveUpload(from url: String) -> String {
        let new = url + "m"
        guard var place = wire.servers.places[url], uploads[new] == nil else { return url }
        // Until the engine has heard of it, what the old one has acknowledged is shown.
        place.hasMisled = true
        place.objects = []
        place.parts = 0
        wire.servers.places[new] = place
        uploads[new] = uploads[url]
        uploads[new]?.posts = []
        return new
    }

    // MARK: - Checks

    /// What is wrong with a file that a server makes visible.
    private func published(
        _ bytes: SimBytes, at url: String, by request: SimUploadRequest
    ) -> String? {
        guard let upload = uploads[url] else { return "\(url) is of no upload" }
        guard upload.versions.contains(bytes) else {
            return "\(url) has \(bytes), which is no version of \(upload.versions)"
        }
        let isPlain = wire.servers.places[url]?.dialect == .plain
        if request.method == "POST", isPlain, !upload.mayRepeat,
            uploads[url]?.posts.insert(request.fetch).inserted == false
        {
            return "\(url) gets its POST twice"
        }
        return nil
    }

    /// What is acknowledged has arrived, and what is completed is there.
    func checkUpload(_ transfer: Transfer) throws {
        guard let place = wire.servers.places[transfer.url], let upload = uploads[transfer.url]
        else { throw SimComplaint("\(transfer.id) goes to \(transfer.url)", self) }
        let acknowledged = transfer.held?.durable.count ?? 0
        guard transfer.state == .completed else {
            // Until it begins anew at another URL, it is about the old one.
            let arrived =
                wire.servers.places.filter { url, _ in
                    transfer.url.hasPrefix(url)
                        && transfer.url.dropFirst(url.count).allSatisfy { $0 == "m" }
                }.map(\.value.mostArrived).max() ?? place.mostArrived
            if acknowledged <= arrived { return }
            throw SimComplaint(
                "\(transfer.id): \(acknowledged) bytes are acknowledged, \(arrived) came", self)
        }
        if expected[transfer.id]?.isVerified == true { return }
        guard let object = place.objects.last, upload.versions.contains(object) else {
            throw SimComplaint(
                "\(transfer.id) is completed, and the server has \(place.objects)", self)
        }
        expected[transfer.id]?.isVerified = true
    }

    /// What was acknowledged is given up only where the server or the file gives reason to.
    func checkUploadRestart(
        _ id: TransferID, _ known: SimTransfer, _ event: StoredEvent
    ) throws {
        if wire.servers.places[known.url]?.hasMisled == true { return }
        throw SimComplaint("\(id) begins anew: \(event.detail ?? "")", self)
    }

    /// Its file is another by now, or the server may have carried out its POST: that is for people
    /// to decide.
    func cannotComplete(_ transfer: Transfer) -> Bool {
        // A cancelled one whose POST may have been carried out is not taken up again either.
        let isOver = transfer.state == .failed || transfer.state == .cancelled
        guard isOver, let upload = uploads[transfer.url],
            let place = wire.servers.places[transfer.url]
        else { return false }
        let isChanged = transfer.error?.code == .sourceChanged && upload.hasChanged
        // An engine that was killed cannot tell whether the request had gone out.
        let isUnknown =
            !upload.mayRepeat && (place.unanswered > 0 || tally.crashPoints > 0)
            && (transfer.error?.message.contains("the answer to the POST was lost") == true
                || expected[transfer.id]?.isAnswerLost == true)
        guard isChanged || isUnknown else { return false }
        expected[transfer.id]?.isVerified = true
        return true
    }

    /// Where the protocol can tell and delete, nothing stays open at a server.
    private func checkNothingIsLeft() throws {
        for (address, resource) in wire.servers.resources.sorted(by: { $0.key < $1.key })
        where !resource.isComplete && !resource.isVoid && resource.isKnown && !isStuck(resource) {
            let owner = shown.values.first { $0.url == resource.place && $0.state == .completed }
            if let owner, expected[owner.id]?.lastFetch == resource.fetch {
                throw SimComplaint("\(owner.id) is completed, and \(address) is open", self)
            }
        }
    }

    /// The file was changed, which the engine learned after it had made the resource, and the
    /// server deletes nothing.
    private func isStuck(_ resource: SimUploadServer.Resource) -> Bool {
        guard let place = wire.servers.places[resource.place], place.dialect == .tus, !place.tells
        else { return false }
        return resource.source.flatMap { disk.sources.contents[$0] } != place.objects.last
    }
}

extension UploadBody {
    /// The request may take away what an abandoned upload has left at its server: tus asks by
    /// OPTIONS before that. Limits and waits of transfers do not hold for it.
    var mayBeOfAbort: Bool { method == "DELETE" || method == "OPTIONS" }
}
