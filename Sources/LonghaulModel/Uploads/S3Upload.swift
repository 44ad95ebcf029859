/// Parts of an S3 upload that are listed at a time: their text fits into the kept part of an
/// answer.
private let uploadPartsListed = 100

/// An upload to S3 or a server like it: a small file goes as one object, a large one in parts that
/// become one in the end (Amazon S3 API Reference, CreateMultipartUpload and its neighbours).
package struct S3Upload: UploadConversation {
    package struct Kept: KeptProgress {
        /// The identifier of the multipart upload.
        package var address: String?
        package var mustAsk = false
        /// Bytes of an object that went out in one request: a stop would have lost them.
        package var sentBound: Int64 = 0
        /// Bytes of a part; `nil` = from the file's length.
        var partSize: Int64?
        /// Entity tags of the parts that the server has, from the first one on; empty where the
        /// server has not got that part yet.
        var partTags: [String] = []
        /// Last part that is compared with the server's list; `nil` = none is.
        var listedThrough: Int?
        /// Begin of the upload by the server's clock.
        var begunAt: Timestamp?
        /// The server does not know the upload any more, and may have made the object of it.
        var isForgotten = false
        /// The server refuses fields of digests; `nil` = it has not so far.
        var refusesDigests: Bool?

        private enum CodingKeys: String, CodingKey {
            case partSize = "appendLimit"
            case address, mustAsk, sentBound, partTags, listedThrough, begunAt, isForgotten
            case refusesDigests
        }

        package init(at address: String? = nil, partSize: Int64? = nil, partTags: [String] = []) {
            self.address = address
            self.partSize = partSize
            self.partTags = partTags
        }
    }

    package var standing: UploadStanding
    var kept: Kept

    init(standing: UploadStanding, kept: Kept) {
        assert(!kept.isForgotten || kept.address != nil, "only what was begun can be forgotten")
        self.standing = standing
        self.kept = kept
    }

    package var progress: UploadProgress { .s3(kept) }

    var parts: S3Parts {
        S3Parts(kept, job.options, size: size, isGrowing: job.isGrowing)
    }

    /// Parts, in any order.
    package var acknowledged: ByteRanges {
        kept.address == nil ? ByteRanges(0..<standing.offset) : parts.acknowledged
    }

    private var url: String { job.request.url }
    private var access: S3Access { job.request.options.s3 ?? S3Access() }

    // MARK: - Requests

    package func next() -> UploadExchange? { next(beside: []) }

    /// A part is sent beside other parts, and nothing else is.
    package func next(beside others: [UploadExchange]) -> UploadExchange? {
        let parts = parts
        let underWay = Set(others.compactMap(\.part))
        if let id = kept.address, !kept.mustAsk,
            let number = parts.firstMissing(besides: underWay)
        {
            return part(number, parts, id)
        }
        guard others.isEmpty else { return nil }
        guard let id = kept.address else {
            // The length decides whether the file goes in parts.
            if job.isGrowing { return parts.count > 0 ? create() : nil }
            return size <= parts.size ? object() : create()
        }
        if job.isGrowing { return kept.mustAsk ? list(id) : nil }
        if kept.isForgotten { return signed(UploadExchange(.ask, "HEAD", url)) }
        return kept.mustAsk ? list(id) : complete(id)
    }

    package func abort() -> UploadExchange? {
        kept.address.map { signed(UploadExchange(.abort, "DELETE", "\(url)?uploadId=\($0)")) }
    }

    private func object() -> UploadExchange {
        var exchange = job.whole(isPlain: true)
        if kept.refusesDigests == true {
            exchange.headers["Repr-Digest"] = nil
        } else if let checksum = job.request.options.checksum, checksum.algorithm == .sha256,
            let bytes = Hex.bytes(checksum.hex)
        {
            exchange.headers[S3Upload.digestField] = Base64.encode(bytes)
        }
        return signed(exchange)
    }

    /// S3 compares this field with an object that comes whole, and tells it with its answer (Amazon
    /// S3 API Reference, PutObject).
    static let digestField = "x-amz-checksum-sha256"

    private func create() -> UploadExchange {
        // libcurl signs the query unchanged: a name without a value needs its equals sign.
        var exchange = UploadExchange(.create, "POST", "\(url)?uploads=")
        exchange.body.content = UploadBody.Content()
        if !job.request.options.headers.contains("Content-Type") {
            exchange.headers["Content-Type"] = job.mediaType
        }
        return signed(exchange)
    }

    private func part(_ number: Int, _ parts: S3Parts, _ id: String) -> UploadExchange {
        // Sorted, as the signature wants it.
        var exchange = UploadExchange(
            .append, "PUT", "\(url)?partNumber=\(number)&uploadId=\(id)")
        exchange.part = number
        exchange.range = parts.range(of: number)
        exchange.completes = exchange.range.upperBound == size && !job.isGrowing
        exchange.body.content = UploadBody.Content(file: exchange.range, pinned: job.pinned)
        exchange.body.mayRepeat = true
        return signed(exchange)
    }

    /// Alone: a part that comes meanwhile would be missing in the list.
    private func list(_ id: String) -> UploadExchange {
        // Sorted, as the signature wants it.
        let marker = kept.listedThrough.map { "&part-number-marker=\($0)" } ?? ""
        let query = "max-parts=\(uploadPartsListed)\(marker)&uploadId=\(id)"
        return signed(UploadExchange(.list, "GET", "\(url)?\(query)"))
    }

    private func complete(_ id: String) -> UploadExchange {
        assert(kept.partTags.count == parts.count, "all parts become one object")
        var text = "<CompleteMultipartUpload>"
        for (index, tag) in kept.partTags.enumerated() {
            text += "<Part><PartNumber>\(index + 1)</PartNumber><ETag>\(tag)</ETag></Part>"
        }
        text += "</CompleteMultipartUpload>"
        var exchange = UploadExchange(.complete, "POST", "\(url)?uploadId=\(id)")
        exchange.body.content = UploadBody.Content(before: Array(text.utf8))
        exchange.headers["Content-Type"] = "application/xml"
        return signed(exchange)
    }

    private func signed(_ exchange: UploadExchange) -> UploadExchange {
        var exchange = exchange
        exchange.signature = access.signature
        exchange.headers[S3Access.unsignedBody.name] = S3Access.unsignedBody.value
        return exchange
    }

    package mutating func begins(_ exchange: UploadExchange) {
        if exchange.purpose == .whole { kept.sentBound = size }
    }

    package mutating func reopens() {
        guard kept.address != nil else { return }
        kept.mustAsk = true
        kept.listedThrough = nil
        kept.isForgotten = false
        // The completion may be under way, too.
        if !job.isGrowing, parts.firstMissing(besides: []) == nil {
            standing.mayHaveArrived = true
        }
    }

    // MARK: - Ends

    package mutating func judge(_ ended: EndedExchange) -> UploadVerdict {
        switch ended.kind {
        case .broken(let failure): broke(ended, by: failure)
        case .early(let head):
            broke(ended, by: UploadFailure.early(head, isCarriedOut: false))
        case .answered(let head):
            switch ended.exchange.purpose {
            case .whole: storedWhole(ended, head)
            case .create: created(ended, head)
            case .append: stored(ended, head)
            case .list: listed(ended, head)
            case .complete: completed(ended, head)
            case .ask: foundObject(ended, head)
            case .discover, .abort, .makeDirectory: .done
            }
        }
    }

    private mutating func broke(_ ended: EndedExchange, by failure: Failure) -> UploadVerdict {
        switch ended.exchange.purpose {
        case .whole:
            kept.sentBound = ended.bound(from: 0)
            return wholeBroke(ended, by: failure, isPlain: false)
        case .complete:
            (kept.mustAsk, standing.mayHaveArrived) = (true, true)
            return .askAfter(failure)
        case .append where ended.mayBeWhole:
            // A part is stored whole or not at all.
            kept.mustAsk = true
            return failure.kind == .transient ? .askAfter(failure) : .failed(failure)
        case .append, .discover, .create, .ask, .list, .abort, .makeDirectory:
            return .failed(failure)
        }
    }

    private mutating func storedWhole(
        _ ended: EndedExchange, _ head: ResponseHead
    ) -> UploadVerdict {
        if head.isSuccess {
            standing.offset = size
            return .done
        }
        let verdict = refused(ended, head)
        // Some servers do not know the fields (Backblaze B2: 400, others: 501).
        if case .failed(let failure) = verdict, failure.kind == .permanent,
            failure.error.code != .checksumMismatch, [400, 501].contains(head.status),
            ended.exchange.headers.contains(S3Upload.digestField)
        {
            kept.refusesDigests = true
            return .goOn
        }
        return verdict
    }

    private mutating func created(_ ended: EndedExchange, _ head: ResponseHead) -> UploadVerdict {
        guard head.isSuccess, let id = MarkupText.element("UploadId", in: ended.end.answer) else {
            return refused(ended, head)
        }
        kept.address = S3Key.escaped(id: id)
        kept.partSize = parts.size
        kept.begunAt = head.date("Date")
        return .goOn
    }

    private mutating func stored(_ ended: EndedExchange, _ head: ResponseHead) -> UploadVerdict {
        if head.status == 404 { return isUnknownAtServer() }
        guard head.isSuccess, let number = ended.exchange.part,
            let tag = head.headers.single("ETag"), !tag.isEmpty
        else { return refused(ended, head) }
        kept.acknowledge(part: number, tag: tag)
        return .goOn
    }

    /// After a break the server's list tells which parts it has.
    private mutating func listed(_ ended: EndedExchange, _ head: ResponseHead) -> UploadVerdict {
        let answer = ended.end.answer
        if head.status == 404 { return forgotten() }
        if [400, 403, 405, 501].contains(head.status), !S3Answer.tellsOfOldKeys(answer),
            !S3Answer.isPassing(answer)
        {
            // Some keys may send parts and not list them, some servers have no lists.
            (kept.mustAsk, kept.listedThrough) = (false, nil)
            return .goOn
        }
        guard head.isSuccess else { return .failed(failure(ended, head)) }
        guard let list = S3Answer.parts(in: answer) else {
            return .failed(S3Answer.unreadableList)
        }
        guard list.next ?? .max > kept.listedThrough ?? 0 else {
            standing.isLeftBehind = true
            return beginAnew("the server's list of parts does not end")
        }
        kept.compare(with: list, parts)
        return .goOn
    }

    /// An error may come with a 200, where the server began to answer before it was done.
    private mutating func completed(
        _ ended: EndedExchange, _ head: ResponseHead
    ) -> UploadVerdict {
        let code = S3Answer.code(in: ended.end.answer)
        if head.isSuccess, code == nil { return .done }
        if head.status == 404 { return forgotten() }
        if head.status == 400, code == "InvalidPart" || code == "InvalidPartOrder" {
            kept.mustAsk = true
            return .conflict(S3Answer.otherParts(head))
        }
        // The server may have gone on after such an answer.
        if head.isSuccess || head.status >= 500 { standing.mayHaveArrived = true }
        return .failed(head.isSuccess ? S3Answer.notJoined : failure(ended, head))
    }

    /// S3 forgets an upload when its object is made, too.
    private mutating func forgotten() -> UploadVerdict {
        guard standing.mayHaveArrived else { return isUnknownAtServer() }
        kept.isForgotten = true
        return .goOn
    }

    private mutating func foundObject(
        _ ended: EndedExchange, _ head: ResponseHead
    ) -> UploadVerdict {
        if S3Answer.isObject(head, size: size, parts: parts.count, since: kept.begunAt) {
            return .done
        }
        // An answer to HEAD has no body, and does not say which 400 it is.
        if head.status == 400 { return .failed(S3Answer.passing(head)) }
        let failure = failure(ended, head)
        if !head.isSuccess, failure.kind == .transient { return .failed(failure) }
        return isUnknownAtServer()
    }

    private mutating func refused(_ ended: EndedExchange, _ head: ResponseHead) -> UploadVerdict {
        standing.mayHaveArrived = false
        return .failed(failure(ended, head))
    }

    private func failure(_ ended: EndedExchange, _ head: ResponseHead) -> Failure {
        S3Answer.failure(head, ended.end.answer, region: access.region)
    }

    package mutating func forgetResource() {
        let refusesDigests = kept.refusesDigests
        kept = Kept(partSize: kept.partSize)
        kept.refusesDigests = refusesDigests
    }
}

/// Chooses the user's header fields that go with a request of an upload.
extension UploadExchange {
    /// The server refuses a part whose signed request has fields that describe the object (see
    /// ``S3Upload``). Elsewhere all of them go with each.
    package func fields(of user: HeaderFields) -> HeaderFields {
        if signature == nil { return user }
        return HeaderFields(user.fields.filter { takes($0.name.lowercased()) })
    }

    private func takes(_ name: String) -> Bool {
        if S3Fields.ofEach.contains(name) { return true }
        // A key of the customer is needed by every request that reads or writes the object.
        if name.hasPrefix(S3Fields.customerKey) { return purpose != .abort }
        if S3Fields.conditions.contains(name) { return purpose == .whole || purpose == .complete }
        if S3Fields.ofCreation.contains(name) { return purpose == .create }
        // The digest of the file does not apply to a part.
        if name == "content-md5" || name.hasPrefix("x-amz-checksum-") { return purpose == .whole }
        let describes =
            S3Fields.ofObject.contains(name) || name.hasPrefix("x-amz-")
            || name.hasPrefix("x-goog-")
        return !describes || purpose == .whole || purpose == .create
    }
}

/// Names of header fields, in lower case.
private enum S3Fields {
    static let ofEach: Set<String> = [
        S3Keys.tokenField, "x-amz-request-payer", "x-amz-expected-bucket-owner",
    ]
    static let customerKey = "x-amz-server-side-encryption-customer-"
    static let conditions: Set<String> = ["if-match", "if-none-match"]
    static let ofCreation: Set<String> = ["x-amz-checksum-algorithm", "x-amz-checksum-type"]
    static let ofObject: Set<String> = [
        "cache-control", "content-disposition", "content-encoding", "content-language",
        "content-type", "expires",
    ]
}
