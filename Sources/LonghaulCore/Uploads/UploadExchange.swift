/// A request of an upload's conversation with the server.
package struct UploadExchange: Hashable, Sendable {
    package enum Purpose: Hashable, Sendable {
        /// OPTIONS: what the server speaks.
        case discover
        /// All bytes in one request. Where the draft is spoken, it also creates a resource.
        case whole
        /// A resource without a byte in it.
        case create
        /// HEAD: how far the server is.
        case ask
        /// GET: which parts the server has (S3).
        case list
        /// PATCH: the bytes from an offset on.
        case append
        /// POST: the parts are to become one object (S3).
        case complete
        /// DELETE: the upload is not wanted any more.
        case abort
    }

    package var purpose: Purpose
    package var url: String
    /// Header fields in addition to the user's.
    package var headers: HeaderFields
    package var body: UploadBody
    /// The bytes of the file that are sent.
    package var range: Range<Int64>
    /// The last byte of the file is among them.
    package var completes: Bool
    /// Number of the S3 part that is sent.
    package var part: Int?
    /// The resource that the request makes or uses up, where its name is known before the answer.
    package var address: String?

    /// The request may not be made twice, and may have been made.
    package func isForbidden(after state: UploadState) -> Bool {
        purpose == .whole && state.mayHaveArrived && !body.mayRepeat
    }
}

extension UploadExchange {
    /// The answer leads to another URL, where the same request is made.
    package func isRedirected(by head: ResponseHead) -> Bool {
        [301, 302, 307, 308].contains(head.status) && head.headers.contains("Location")
            && !hasResultElsewhere(head)
    }

    /// The answer says that a POST of the file was carried out, and that its result is at another
    /// URL (RFC 9110 §15.4.4). Once the body has gone out, 301 and 302 mean the same for a POST:
    /// browsers follow them with GET (§15.4). A move from http to https is not such an answer.
    func hasResultElsewhere(_ head: ResponseHead) -> Bool {
        guard purpose == .whole, body.method == "POST", head.isAfterBody else { return false }
        switch head.status {
        case 303: return true
        case 302: return head.headers.contains("Location")
        case 301:
            guard let location = head.headers["Location"] else { return false }
            let isUpgrade =
                location.beginsIgnoringCase(with: "https:")
                && head.effectiveURL.beginsIgnoringCase(with: "http:")
            return !isUpgrade
        default: return false
        }
    }
}

/// First step of an upload.
package struct UploadStart: Hashable, Sendable {
    package var dialect: UploadDialect
    /// See ``UploadState/isGuess``.
    package var isGuess = false
    /// See ``UploadState/isRemembered``.
    package var isRemembered = false
}

/// Decides what an upload asks next. Pure.
package struct UploadPlan {
    let request: TransferRequest
    let options: UploadOptions
    let state: UploadState
    /// Offset that the server has acknowledged.
    let offset: Int64
    let source: SourceVersion
    let transfer: TransferID

    package init(
        _ request: TransferRequest, _ options: UploadOptions, _ state: UploadState, offset: Int64,
        source: SourceVersion, transfer: TransferID
    ) {
        self.request = request
        self.options = options
        self.state = state
        self.offset = offset
        self.source = source
        self.transfer = transfer
    }

    private var size: Int64 { source.size }

    /// Protocol that is spoken before the server has been asked; `nil` = it is to be asked.
    ///
    /// - Parameter known: What the origin has spoken before.
    package static func start(
        for options: UploadOptions, to url: String, known: UploadDialect?
    ) -> UploadStart? {
        if RemoteFile(url) != nil { return UploadStart(dialect: .remoteFile) }
        if options.formField != nil { return UploadStart(dialect: .plain) }
        switch options.uploadProtocol {
        case .put, .post: return UploadStart(dialect: .plain)
        case .tus: return UploadStart(dialect: .tus)
        case .ietf:
            // A PUT without a byte would empty a file at a URL where the draft is not spoken.
            guard let known, known.interopVersion != nil, options.method != .put else { return nil }
            return UploadStart(dialect: known, isRemembered: true)
        case .s3: return UploadStart(dialect: .s3)
        case .auto:
            // Other paths of the origin may speak something else. For a plain server a PUT that
            // offers to be resumed is a PUT, but the empty POST of tus would be a real POST.
            guard let known, known != .tus else { return nil }
            return UploadStart(
                dialect: known, isGuess: known.interopVersion != nil, isRemembered: true)
        }
    }

    /// The next request; `nil` = the server has everything and has said so, or what is out has to
    /// end first.
    ///
    /// - Parameter others: The requests that are out.
    package func next(beside others: [UploadExchange] = []) -> UploadExchange? {
        if state.dialect == .s3 { return s3.next(beside: others) }
        guard others.isEmpty else { return nil }
        guard let dialect = state.dialect else { return discover() }
        if let remoteFile { return remoteFile.next() }
        guard let address = state.address else { return first(dialect) }
        if state.mustAsk { return ask(dialect, address) }
        if offset >= size, dialect == .tus { return nil }
        return append(dialect, address)
    }

    /// Takes the resource away from the server, or asks whether that can be done (tus); `nil` = it
    /// cannot, or there is none.
    package func abort() -> UploadExchange? {
        guard let dialect = state.dialect, let address = state.address else { return nil }
        if dialect == .s3 { return s3.abort(address) }
        if let remoteFile { return remoteFile.abort() }
        if dialect == .tus, state.terminates != true {
            return state.terminates == nil ? discover() : nil
        }
        return exchange(.abort, "DELETE", named(address), dialect)
    }

    private var s3: S3Plan { S3Plan(self, whole: { whole(.s3) }) }

    private var remoteFile: RemoteFilePlan? {
        RemoteFile(request.url).map { RemoteFilePlan(self, $0) }
    }

    // MARK: - Requests

    private func discover() -> UploadExchange {
        var headers = HeaderFields()
        let version = (state.draftToAsk ?? .ietf9).interopVersion
        headers["Upload-Draft-Interop-Version"] = version.map(String.init)
        if options.uploadProtocol != .ietf { headers["Tus-Resumable"] = "1.0.0" }
        return UploadExchange(
            purpose: .discover, url: request.url, headers: headers,
            body: UploadBody(method: "OPTIONS"), range: 0..<0, completes: false)
    }

    private func first(_ dialect: UploadDialect) -> UploadExchange {
        switch dialect {
        case .plain, .s3, .remoteFile: whole(dialect)
        case .tus: createTus()
        case .ietf9, .ietf8, .ietf6: isCreatedFirst ? createEmpty(dialect) : whole(dialect)
        }
    }

    /// A resource that is made before its bytes are sent cannot be lost with an interim answer. A
    /// small file is sent at once; so is one whose server may not speak the draft.
    private var isCreatedFirst: Bool {
        if let limit = state.appendLimit, limit < size { return true }
        return !state.isGuess && size > Limits.uploadAtOnceBytes
    }

    private func whole(_ dialect: UploadDialect) -> UploadExchange {
        let isPlain = dialect.interopVersion == nil || state.isGuess
        let method = options.method ?? (isPlain ? .put : .post)
        var content = UploadBody.Content(file: 0..<size, pinned: source)
        var type = options.contentType ?? "application/octet-stream"
        if let field = options.formField {
            let form = FormPart(field: field, path: request.sourceName, type: type, source: source)
            content.before = form.before
            content.after = form.after
            type = form.contentType
        }
        // A server that speaks neither tus nor the draft stores the file under its URL.
        let isPlace = isPlain && method == .put && options.formField == nil
        let url =
            isPlace ? UploadPlace.url(of: request.sourceName, at: request.url) : request.url
        var exchange = exchange(
            .whole, (options.formField == nil ? method : .post).rawValue, url, dialect)
        exchange.body.content = content
        exchange.body.expectsContinue = content.length > Limits.uploadAtOnceBytes
        exchange.body.mayRepeat = exchange.body.method == "PUT" || options.isRepeatable
        exchange.range = 0..<size
        exchange.completes = true
        addDescription(&exchange, type: type)
        if dialect.interopVersion != nil {
            exchange.headers["Upload-Complete"] = "?1"
            exchange.headers["Upload-Length"] = "\(size)"
        }
        return exchange
    }

    private func createEmpty(_ dialect: UploadDialect) -> UploadExchange {
        var exchange = exchange(
            .create, (options.method ?? .post).rawValue, request.url, dialect)
        exchange.body.content = UploadBody.Content()
        exchange.headers["Upload-Complete"] = "?0"
        exchange.headers["Upload-Length"] = "\(size)"
        addDescription(&exchange, type: options.contentType ?? "application/octet-stream")
        return exchange
    }

    /// The creation carries the file (tus 1.0.0, Creation With Upload). If its answer is lost, the
    /// server has a whole file that nothing names, and it is sent again: so only where that may be.
    private var isCreatedWhole: Bool {
        state.takesBytesAtCreation && options.isRepeatable
            && (1...Limits.uploadAtOnceBytes).contains(size)
    }

    private func createTus() -> UploadExchange {
        var exchange = exchange(.create, "POST", request.url, .tus)
        exchange.body.content = UploadBody.Content()
        if isCreatedWhole {
            exchange.range = 0..<size
            exchange.completes = true
            exchange.body.content = UploadBody.Content(file: exchange.range, pinned: source)
            exchange.body.mayRepeat = true
            exchange.headers["Content-Type"] = "application/offset+octet-stream"
        }
        exchange.headers["Upload-Length"] = "\(size)"
        if !request.options.headers.contains("Upload-Metadata") {
            // tuspyserver tells no offset of an upload without a type.
            let type = options.contentType ?? "application/octet-stream"
            exchange.headers["Upload-Metadata"] =
                "filename \(Base64.encode(Array(request.sourceName.utf8))),"
                + "filetype \(Base64.encode(Array(type.utf8)))"
        }
        return exchange
    }

    private func ask(_ dialect: UploadDialect, _ address: String) -> UploadExchange {
        exchange(.ask, "HEAD", named(address), dialect)
    }

    private func append(_ dialect: UploadDialect, _ address: String) -> UploadExchange {
        assert(offset <= size, "the server has no more than there is")
        let end = min(size, offset.addingClamped(state.appendLimit ?? .max))
        var exchange = exchange(.append, "PATCH", named(address), dialect)
        exchange.range = offset..<end
        exchange.completes = end == size
        exchange.body.content = UploadBody.Content(file: exchange.range, pinned: source)
        exchange.headers["Upload-Offset"] = "\(offset)"
        if dialect == .tus {
            exchange.headers["Content-Type"] = "application/offset+octet-stream"
        } else {
            exchange.headers["Content-Type"] = "application/partial-upload"
            exchange.headers["Upload-Complete"] = exchange.completes ? "?1" : "?0"
        }
        return exchange
    }

    private func named(_ address: String) -> String {
        UploadAddress.withUser(of: request.url, address)
    }

    private func exchange(
        _ purpose: UploadExchange.Purpose, _ method: String, _ url: String,
        _ dialect: UploadDialect
    ) -> UploadExchange {
        var headers = HeaderFields()
        if let version = dialect.interopVersion {
            headers["Upload-Draft-Interop-Version"] = "\(version)"
        }
        if dialect == .tus { headers["Tus-Resumable"] = "1.0.0" }
        return UploadExchange(
            purpose: purpose, url: url, headers: headers, body: UploadBody(method: method),
            range: 0..<0, completes: false)
    }

    /// Adds the description of the file to the request that creates it at the server.
    private func addDescription(_ exchange: inout UploadExchange, type: String) {
        if options.formField != nil || !request.options.headers.contains("Content-Type") {
            exchange.headers["Content-Type"] = type
        }
        if options.formField == nil,
            let digest = request.options.checksum.flatMap(DigestField.stored)
        {
            exchange.headers["Repr-Digest"] = digest
        }
        if exchange.purpose == .whole, state.dialect == .s3,
            let checksum = request.options.checksum, checksum.algorithm == .sha256,
            let bytes = Hex.bytes(checksum.hex)
        {
            exchange.headers[ReceivedDigest.s3Field] = Base64.encode(bytes)
        }
    }
}

/// The file as the only part of a form (RFC 7578).
struct FormPart {
    let before: [UInt8]
    let after: [UInt8]
    let contentType: String

    init(field: String, path name: String, type: String, source: SourceVersion) {
        // Made of what no file holds by chance.
        let mark =
            "longhaul-\(String(source.inode, radix: 36))-\(String(source.changed, radix: 36))"
            + "-\(String(source.modified, radix: 36))"
        before = Array(
            ("--\(mark)\r\nContent-Disposition: form-data; name=\"\(FormPart.quoted(field))\"; "
                + "filename=\"\(FormPart.quoted(name))\"\r\nContent-Type: \(type)\r\n\r\n").utf8)
        after = Array("\r\n--\(mark)--\r\n".utf8)
        contentType = "multipart/form-data; boundary=\(mark)"
    }

    /// Quotes as browsers do (WHATWG HTML, multipart/form-data encoding algorithm).
    private static func quoted(_ text: String) -> String {
        var quoted = ""
        for character in text.unicodeScalars {
            switch character {
            case "\"": quoted += "%22"
            case "\r": quoted += "%0D"
            case "\n": quoted += "%0A"
            default: quoted.unicodeScalars.append(character)
            }
        }
        return quoted
    }
}
