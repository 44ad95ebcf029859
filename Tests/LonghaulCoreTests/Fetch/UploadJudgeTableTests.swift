import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// What each end of each request means, for every protocol: protocol × purpose × end → verdict.
///
/// A cell begins with the verdict (``letter(_:)``) and goes on with the marks of what has changed
/// in the upload (``marks(_:_:_:)``). A change of a cell is a change of what users are promised.
@Suite struct UploadJudgeTableTests {
    /// D done, G the next request follows, A the server is asked, C conflict, R retried,
    /// I needs input, F fails, Z begun anew, L a fault of this machine.
    private static func letter(_ verdict: UploadVerdict) -> String {
        switch verdict {
        case .done: "D"
        case .goOn: "G"
        case .askAfter: "A"
        case .conflict: "C"
        case .failed(let failure):
            switch failure.kind {
            case .transient: "R"
            case .needsInput: "I"
            case .permanent: "F"
            case .restartFromZero: "Z"
            case .waitForStorage, .localFault: "L"
            }
        }
    }

    /// `?` the server is asked next, `!` the file may have arrived, `x` what was sent is lost,
    /// `@` the address is another, `p` the protocol is another, `=` all bytes are acknowledged.
    private static func marks(
        _ judge: any UploadConversation, _ before: UploadState, _ offset: Int64
    ) -> String {
        let state = judge.state
        var marks = ""
        if state.progress.kept.mustAsk { marks += "?" }
        if state.mayHaveArrived { marks += "!" }
        if judge.standing.lost != nil { marks += "x" }
        if state.address != before.address { marks += "@" }
        if spoken(state.progress) != spoken(before.progress) { marks += "p" }
        if judge.standing.offset == size, offset != size { marks += "=" }
        return marks
    }

    private static func spoken(_ progress: UploadProgress) -> String {
        switch progress {
        case .discovery: "nothing"
        case .plain: "plain"
        case .draft(let kept): "\(kept.version) \(kept.isGuess)"
        case .tus: "tus"
        case .s3: "s3"
        case .remoteFile: "remote file"
        }
    }

    private static let size: Int64 = 20 << 20

    // MARK: - Ends

    /// The columns: the protocol's own success; a success without a field; the first before the
    /// body was out; statuses; a connection that is cut with nothing, half and all of the body out;
    /// a connection that is refused.
    private static let ends = [
        "ok", "200", "mid", "303", "400", "401", "403", "404", "409", "410", "412", "413", "423",
        "460", "500", "501", "503", "c0", "c50", "c99", "ref",
    ]
    /// Over FTP and SFTP libcurl's codes with the server's reply: 25 the file or the append is
    /// refused, 21 a command is, 78 there is no such file.
    private static let fileEnds = [
        "ok", "c0", "c50", "c99", "ref", "25/550", "25/450", "21/550", "21/450", "78/550",
    ]

    private struct End {
        var head: ResponseHead?
        var end: SegmentEnd

        init(_ name: String, _ exchange: UploadExchange, _ own: (fields: String, body: String)) {
            let length = exchange.body.content?.length ?? 0
            var failure: WireFailure?
            var sent = length
            var status: Int?
            var fields = ""
            var answer = ""
            switch name {
            case "ok": (status, fields, answer) = (200, own.fields, own.body)
            case "mid": (status, fields, answer, sent) = (200, own.fields, own.body, length / 2)
            case "c0": (failure, sent) = (.curl(code: 56, text: "reset", osError: 104), 0)
            case "c50": (failure, sent) = (.curl(code: 56, text: "", osError: 104), length / 2)
            case "c99": failure = .curl(code: 56, text: "reset", osError: 104)
            case "ref": (failure, sent) = (.curl(code: 7, text: "ref", osError: 111), 0)
            default:
                let reply = name.split(separator: "/")
                if reply.count == 2 {
                    let code = Int32(reply[0]) ?? 0
                    failure = .curl(code: code, text: String(reply[1]), osError: 0)
                    if code != 21 { sent = 0 }
                } else {
                    status = Int(name)
                }
            }
            end = SegmentEnd(failure: failure, writtenThrough: 0, bytesReceived: 0)
            end.bytesSent = sent
            end.answer = Array(answer.utf8)
            guard let status else { return }
            var headers = HeaderFields()
            for line in fields.split(separator: "|") {
                let pair = line.split(separator: ":", maxSplits: 1)
                headers[String(pair[0])] = String(pair[1])
            }
            var head = ResponseHead(
                scheme: exchange.url.hasPrefix("ftp:") ? .ftp : .http, status: status,
                headers: headers, effectiveURL: exchange.url, httpVersion: 11,
                receivedAt: Timestamp(milliseconds: 0))
            head.isAfterBody = sent == length
            self.head = head
        }
    }

    // MARK: - Requests

    /// One row: how the request came about, and the fields and body of its own success.
    private struct Row {
        var name: String
        var way: UploadProtocol = .auto
        var url = "http://h/a"
        var options: (inout UploadOptions) -> Void = { _ in }
        var progress: UploadProgress
        var mayHaveArrived = false
        var offset: Int64 = 0
        var fields = ""
        var body = ""
    }

    private static let complete = "Upload-Complete:?1|Upload-Offset:\(size)"
    private static let resource = "Location:http://h/r/1"
    private static let discovery = UploadProgress.discovery(UploadDiscovery.Kept())
    private static let plain = UploadProgress.plain(PlainUpload.Kept())
    private static let tus = UploadProgress.tus(TusUpload.Kept())
    private static let object = UploadProgress.s3(S3Upload.Kept())
    private static let file = UploadProgress.remoteFile(RemoteFileUpload.Kept())

    private static func draft(
        _ version: DraftVersion, isGuess: Bool = false, isRemembered: Bool = false
    ) -> UploadProgress {
        .draft(DraftUpload.Kept(version, isGuess: isGuess, isRemembered: isRemembered))
    }

    private static func at(
        _ spoken: SpokenUploads, asks: Bool = false, piece: Int64? = nil
    ) -> UploadProgress {
        let progress = UploadProgress.at(
            spoken, "http://h/r/1", sentBound: size, mustAsk: asks)
        switch progress {
        case .draft(var kept):
            kept.appendLimit = piece
            return .draft(kept)
        case .tus(var kept):
            kept.appendLimit = piece
            return .tus(kept)
        default: return progress
        }
    }

    private static func s3(
        _ tags: Int, asks: Bool = false, isForgotten: Bool = false
    ) -> UploadProgress {
        var kept = S3Upload.Kept(
            at: "id", partSize: 8 << 20, partTags: Array(repeating: "\"t\"", count: tags))
        (kept.mustAsk, kept.isForgotten) = (asks, isForgotten)
        return .s3(kept)
    }

    private static func file(asks: Bool = false, swap: RemoteSwap? = nil) -> UploadProgress {
        .remoteFile(
            RemoteFileUpload.Kept(
                at: "http://h/r/1", sentBound: size, mustAsk: asks, swap: swap))
    }

    private static var rows: [Row] {
        [
            Row(name: "auto options", progress: discovery, fields: "Tus-Version:1.0.0"),
            Row(name: "auto whole", progress: draft(.ietf9, isGuess: true)),
            Row(
                name: "auto known", progress: draft(.ietf9, isGuess: true, isRemembered: true),
                fields: complete),
            Row(
                name: "auto plain", progress: .plain(PlainUpload.Kept(isRemembered: true))),
            Row(name: "put whole", way: .put, progress: plain),
            Row(
                name: "post whole", way: .post, options: { $0.method = .post }, progress: plain),
            Row(
                name: "post again", way: .post,
                options: { ($0.method, $0.isRepeatable) = (.post, true) }, progress: plain),
            Row(name: "form whole", options: { $0.formField = "f" }, progress: plain),
            Row(name: "tus options", way: .tus, progress: discovery, fields: "Tus-Version:1.0.0"),
            Row(name: "tus create", way: .tus, progress: tus, fields: resource),
            Row(name: "tus found", progress: tus, fields: resource),
            Row(
                name: "tus ask", way: .tus, progress: at(.tus, asks: true),
                fields: "Upload-Offset:\(size)"),
            Row(
                name: "tus append", way: .tus, progress: at(.tus), fields: "Upload-Offset:\(size)"
            ),
            Row(
                name: "tus piece", way: .tus, progress: at(.tus, piece: 1 << 20),
                fields: "Upload-Offset:\(1 << 20)"),
            Row(
                name: "tus least", way: .tus, progress: at(.tus, piece: 64 << 10),
                fields: "Upload-Offset:\(64 << 10)"),
            Row(
                name: "ietf options", way: .ietf, progress: discovery,
                fields: "Upload-Draft-Interop-Version:9"),
            Row(
                name: "ietf6 told", way: .ietf,
                progress: .discovery(UploadDiscovery.Kept(asking: .ietf6)),
                fields: "Upload-Draft-Interop-Version:6"),
            Row(
                name: "ietf6 put", way: .ietf, options: { $0.method = .put },
                progress: .discovery(UploadDiscovery.Kept(asking: .ietf6)),
                fields: "Upload-Draft-Interop-Version:6"),
            Row(name: "ietf9 create", way: .ietf, progress: draft(.ietf9), fields: resource),
            Row(
                name: "ietf9 known", way: .ietf, progress: draft(.ietf9, isRemembered: true),
                fields: resource),
            Row(
                name: "ietf9 ask", way: .ietf, progress: at(.ietf9, asks: true), fields: complete),
            Row(name: "ietf9 append", way: .ietf, progress: at(.ietf9), fields: complete),
            Row(
                name: "ietf9 piece", way: .ietf, progress: at(.ietf9, piece: 1 << 20),
                fields: "Upload-Complete:?0|Upload-Offset:\(1 << 20)"),
            Row(
                name: "ietf8 ask", way: .ietf, progress: at(.ietf8, asks: true), fields: complete),
            Row(name: "ietf6 create", way: .ietf, progress: draft(.ietf6), fields: resource),
            Row(
                name: "ietf6 ask", way: .ietf, progress: at(.ietf6, asks: true),
                fields: "Upload-Offset:\(size)"),
            Row(
                name: "ietf6 append", way: .ietf, progress: at(.ietf6),
                fields: "Upload-Offset:\(size)"),
            Row(
                name: "s3 whole", way: .s3, options: { $0.partSize = 64 << 20 },
                progress: object, fields: "ETag:\"t\""),
            Row(
                name: "s3 create", way: .s3, progress: object, body: "<UploadId>id</UploadId>"),
            Row(name: "s3 part", way: .s3, progress: s3(0), fields: "ETag:\"t\""),
            Row(
                name: "s3 list", way: .s3, progress: s3(3, asks: true),
                body: "<ListPartsResult><IsTruncated>false</IsTruncated></ListPartsResult>"),
            Row(name: "s3 complete", way: .s3, progress: s3(3)),
            Row(name: "s3 joined", way: .s3, progress: s3(3), mayHaveArrived: true),
            Row(
                name: "s3 ask", way: .s3, progress: s3(3, isForgotten: true),
                mayHaveArrived: true, fields: "Content-Length:\(size)|ETag:\"t-3\""),
            Row(name: "ftp whole", url: "ftp://h/a", progress: file),
            Row(
                name: "ftp in place", url: "ftp://h/a", options: { $0.inPlace = true },
                progress: file),
            Row(
                name: "ftp ask", url: "ftp://h/a", progress: file(asks: true),
                fields: "Content-Length:\(size)"),
            Row(
                name: "ftp target", url: "ftp://h/a",
                progress: .remoteFile(RemoteFileUpload.Kept(mustAsk: true)),
                fields: "Content-Length:\(size)"),
            Row(name: "ftp append", url: "ftp://h/a", progress: file(), offset: 1 << 20),
            Row(name: "ftp name", url: "ftp://h/a", progress: file(), offset: size),
            Row(
                name: "ftp swap", url: "ftp://h/a", progress: file(swap: .swapping),
                offset: size),
            Row(
                name: "ftp restore", url: "ftp://h/a", progress: file(swap: .restoring),
                offset: size),
            Row(
                name: "ftp tidy", url: "ftp://h/a", progress: file(swap: .tidying),
                offset: size),
        ]
    }

    private static func cells(of row: Row) throws -> [String] {
        let source = SourceVersion(device: 1, inode: 2, size: size, modified: 3, changed: 4)
        var options = UploadOptions()
        options.uploadProtocol = row.way
        row.options(&options)
        let request = TransferRequest(uploadTo: row.url, source, options)
        let state = UploadState(row.progress, mayHaveArrived: row.mayHaveArrived)
        let exchange = try #require(state.conversation(request, offset: row.offset).next())
        return try (row.url == "http://h/a" ? ends : fileEnds).map { name in
            let end = End(name, exchange, (row.fields, row.body))
            var judge = try state.conversation(request, offset: row.offset)
            let verdict = judge.judge(EndedExchange(exchange, end.end, end.head))
            return letter(verdict) + marks(judge, state, row.offset)
        }
    }

    /// As the table below writes it.
    private static func line(_ name: String, _ cells: [String]) -> String {
        func padded(_ text: String, _ width: Int) -> String {
            text + String(repeating: " ", count: max(1, width - text.utf8.count))
        }
        let text = padded(name, 13) + cells.map { padded($0, cells.count == 10 ? 8 : 4) }.joined()
        return String(text.reversed().drop { $0 == " " }.reversed())
    }

    @Test func everyEndMeansWhatTheTableSays() throws {
        let isHTTP = { (row: Row) in row.url == "http://h/a" }
        var lines = [Self.line("", Self.ends)]
        lines += try Self.rows.filter(isHTTP).map { Self.line($0.name, try Self.cells(of: $0)) }
        lines += ["", Self.line("", Self.fileEnds)]
        lines += try Self.rows.filter { !isHTTP($0) }
            .map { Self.line($0.name, try Self.cells(of: $0)) }
        let expected = Self.table.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == expected.count)
        for (line, row) in zip(lines, expected) { #expect(line == row) }
        if lines.joined(separator: "\n") != Self.table { print(lines.joined(separator: "\n")) }
    }

    // swift-format-ignore
    private static let table = """
                 ok  200 mid 303 400 401 403 404 409 410 412 413 423 460 500 501 503 c0  c50 c99 ref
    auto options Gp  G   Gp  G   G   Gp  Gp  G   G   G   G   G   G   G   Gp  G   R   R   R   R   R
    auto whole   D=  D=  R!  Fp  Gp  Ip  Ip  Ip  Fp  Ip  Gp  Fp  R   Fp  R   Gp  R   R   R!  R!  R
    auto known   D=  D=  R!  Fp  Gp  Ip  Ip  Gp  Fp  Ip  Gp  Fp  R   Fp  R   Gp  R   R   R!  R!  R
    auto plain   D=  D=  R!  Fp  Gp  Ip  Ip  Gp  Fp  Ip  Gp  Fp  R   Fp  R   Gp  R   R   R!  R!  R
    put whole    D=  D=  R!  F   F   I   I   I   F   I   F   F   R   F   R   F   R   R   R!  R!  R
    post whole   D=  D=  F!  D=  F   I   I   I   F   I   F   F   R   F   R   F   R   R   F!  F!  R
    post again   D=  D=  R!  D=  F   I   I   I   F   I   F   F   R   F   R   F   R   R   R!  R!  R
    form whole   D=  D=  F!  D=  Fp  Ip  Ip  Ip  Fp  Ip  Fp  Fp  R   Fp  R   Fp  R   R   F!  F!  R
    tus options  Gp  Gp  Gp  Gp  Gp  Gp  Gp  Gp  Gp  Gp  Gp  Gp  Gp  Gp  Gp  Gp  R   R   R   R   R
    tus create   G@  F   G@  F   F   I   I   I   F   I   F   F   R   F   R   F   R   R   R   R   R
    tus found    G@  F   G@  Fp  Fp  Ip  Ip  Ip  Fp  Ip  Fp  Fp  R   Fp  R   Fp  R   R   R   R   R
    tus ask      D=  R?  D=  F?  F?  I?  Cx@ Cx@ C?  Cx@ F?  F?  C?  F?  R?  F?  R?  R?  R?  R?  R?
    tus append   D=  D=  A?  F?  F?  I?  I?  Cx@ C?  Cx@ F?  G   C?  R?  R?  F?  R?  R?  A?  A?  R?
    tus piece    G   G   A?  F?  F?  I?  I?  Cx@ C?  Cx@ F?  G   C?  R?  R?  F?  R?  R?  A?  A?  R?
    tus least    G   G   A?  F?  F?  I?  I?  Cx@ C?  Cx@ F?  F?  C?  R?  R?  F?  R?  R?  A?  A?  R?
    ietf options Gp  G   Gp  G   G   Gp  Gp  G   G   G   G   G   G   G   Gp  G   R   R   R   R   R
    ietf6 told   Gp  Gp  Gp  Gp  Gp  Gp  Gp  Gp  Gp  Gp  Gp  Gp  Gp  Gp  Gp  Gp  R   R   R   R   R
    ietf6 put    Gp  F   Gp  F   F   I   I   F   F   F   F   F   F   F   R   F   R   R   R   R   R
    ietf9 create G@  F   G@  F   F   I   I   I   F   I   F   F   R   F   R   F   R   R   R   R   R
    ietf9 known  G@  Gp  G@  F   Gp  I   I   Gp  F   I   Gp  F   R   F   R   Gp  R   R   R   R   R
    ietf9 ask    D=  R?  D=  F?  F?  I?  I?  Cx@ C?  Cx@ F?  F?  C?  F?  R?  F?  R?  R?  R?  R?  R?
    ietf9 append D=  D=  A?  F?  F?  I?  I?  Cx@ C?  Cx@ F?  G   C?  F?  R?  F?  R?  R?  A?  A?  R?
    ietf9 piece  G   G   A?  F?  F?  I?  I?  Cx@ C?  Cx@ F?  G   C?  F?  R?  F?  R?  R?  A?  A?  R?
    ietf8 ask    D=  R?  D=  F?  F?  I?  I?  Cx@ C?  Cx@ F?  F?  C?  F?  R?  F?  R?  R?  R?  R?  R?
    ietf6 create G@  F   G@  F   F   I   I   I   F   I   F   F   R   F   R   F   R   R   R   R   R
    ietf6 ask    D=  R?  D=  F?  F?  I?  I?  Cx@ C?  Cx@ F?  F?  C?  F?  R?  F?  R?  R?  R?  R?  R?
    ietf6 append D=  D=  A?  F?  F?  I?  I?  Cx@ C?  Cx@ F?  G   C?  F?  R?  F?  R?  R?  A?  A?  R?
    s3 whole     D=  D=  R   F   F   I   I   I   F   I   F   F   R   F   R   F   R   R   R   R!  R
    s3 create    G@  R   G@  F   F   I   I   I   F   I   F   F   R   F   R   F   R   R   R   R   R
    s3 part      G   R   R   F   F   I   I   Cx@ F   I   F   F   R   F   R   F   R   R   R   A?  R
    s3 list      G   R?  G   F?  G   I?  G   Cx@ F?  I?  F?  F?  R?  F?  R?  G   R?  R?  R?  R?  R?
    s3 complete  D   D   A?! F   F   I   I   Cx@ F   I   F   F   R   F   R!  F!  R!  A?! A?! A?! A?!
    s3 joined    D!  D!  A?! F!  F!  I!  I!  G!  F!  I!  F!  F!  R!  F!  R!  F!  R!  A?! A?! A?! A?!
    s3 ask       D!  Cx@ D!  Cx@ R!  Cx@ Cx@ Cx@ Cx@ Cx@ Cx@ Cx@ R!  Cx@ R!  Cx@ R!  R!  R!  R!  R!

                 ok      c0      c50     c99     ref     25/550  25/450  21/550  21/450  78/550
    ftp whole    D=      R       A?      A?!     R       I       R       G=      R=      I
    ftp in place D=      R       R       R       R       I       R       Z       Z       I
    ftp ask      G=      R?      R?      R?      R?      I?      R?      Z?      Z?      G@
    ftp target   D?=     R?      R?      R?      R?      I?      R?      Z?      Z?      Cx
    ftp append   G?=     R?      A?      A?      R?      Cx      R?      Z?      Z?      I?
    ftp name     D       A?      A?      A?      A?      I?      A?      G       R       I?
    ftp swap     D       A?      A?      A?      A?      I?      A?      G       G       I?
    ftp restore  I       A?      A?      A?      A?      I?      A?      I       I       I?
    ftp tidy     D       D       D       D       D       D       D       D       D       D
    """
}
