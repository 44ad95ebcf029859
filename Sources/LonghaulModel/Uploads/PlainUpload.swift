/// A single request with all bytes: a PUT, a POST, or a form. After a break the whole file is sent
/// again if that is allowed.
package struct PlainUpload: UploadConversation {
    package struct Kept: KeptProgress {
        /// The origin spoke nothing else before, perhaps at another URL.
        var isRemembered = false
        /// Bytes that went out in the last request: a stop would have lost them.
        package var sentBound: Int64 = 0

        package init(isRemembered: Bool = false) {
            self.isRemembered = isRemembered
        }
    }

    package var standing: UploadStanding
    private(set) var kept: Kept

    init(standing: UploadStanding, kept: Kept) {
        self.standing = standing
        self.kept = kept
    }

    package var progress: UploadProgress { .plain(kept) }

    package func next() -> UploadExchange? { job.whole(isPlain: true) }

    package mutating func begins(_ exchange: UploadExchange) {
        kept.sentBound = max(kept.sentBound, exchange.range.upperBound)
    }

    package mutating func judge(_ ended: EndedExchange) -> UploadVerdict {
        switch ended.kind {
        case .broken(let failure): return broke(ended, by: failure)
        case .early(let head):
            if let verdict = wholeAnsweredEarly(ended, head, isPlain: true) { return verdict }
            return broke(ended, by: UploadFailure.early(head, isCarriedOut: false))
        case .answered(let head):
            if kept.isRemembered, UploadDiscovery.isNotSpoken(head) { return discoverAnew() }
            guard ended.isTaken else { return refused(head) }
            standing.offset = size
            return .done
        }
    }

    private mutating func broke(_ ended: EndedExchange, by failure: Failure) -> UploadVerdict {
        kept.sentBound = ended.bound(from: 0)
        return wholeBroke(ended, by: failure, isPlain: true)
    }

    package mutating func forgetResource() {
        kept = Kept()
    }
}

extension UploadJob {
    /// A request that carries all bytes.
    ///
    /// - Parameter isPlain: The server may store the file under its URL, as one does that speaks
    ///   neither tus nor the draft.
    func whole(isPlain: Bool) -> UploadExchange {
        let method = options.method ?? (isPlain ? .put : .post)
        var content = UploadBody.Content(file: 0..<size, pinned: source)
        var type = mediaType
        if let field = options.formField {
            let form = FormPart(
                field: field, path: request.sourceName, type: type, source: source,
                after: options.formFields ?? [])
            content.before = form.before
            content.after = form.after
            type = form.contentType
        }
        let isPlace = isPlain && method == .put && options.formField == nil
        let url = isPlace ? UploadPlace.url(of: request.sourceName, at: request.url) : request.url
        var exchange = UploadExchange(
            .whole, (options.formField == nil ? method : .post).rawValue, url)
        exchange.body.content = content
        exchange.body.expectsContinue = content.length > Limits.uploadAtOnceBytes
        exchange.body.mayRepeat = exchange.body.method == "PUT" || options.isRepeatable
        exchange.range = 0..<size
        exchange.completes = true
        describe(&exchange, type: type)
        return exchange
    }

    /// Adds the description of the file to the request that creates it at the server.
    func describe(_ exchange: inout UploadExchange, type: String) {
        if options.formField != nil || !request.options.headers.contains("Content-Type") {
            exchange.headers["Content-Type"] = type
        }
        if options.formField == nil,
            let digest = request.options.checksum.flatMap(DigestField.stored)
        {
            exchange.headers["Repr-Digest"] = digest
        }
    }
}

/// The file as the last part of a form (RFC 7578).
struct FormPart {
    let before: [UInt8]
    let after: [UInt8]
    let contentType: String

    init(
        field: String, path name: String, type: String, source: SourceVersion,
        after fields: [FormField] = []
    ) {
        // Made of what no file holds by chance.
        let mark =
            "longhaul-\(String(source.inode, radix: 36))-\(String(source.changed, radix: 36))"
            + "-\(String(source.modified, radix: 36))"
        func head(_ name: String) -> String {
            "--\(mark)\r\nContent-Disposition: form-data; name=\"\(FormPart.quoted(name))\""
        }
        let others = fields.map { head($0.name) + "\r\n\r\n\($0.value)\r\n" }
        before = Array(
            (others.joined() + head(field)
                + "; filename=\"\(FormPart.quoted(name))\"\r\nContent-Type: \(type)\r\n\r\n").utf8)
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
