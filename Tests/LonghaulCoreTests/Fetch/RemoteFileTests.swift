import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// Uploads over FTP and SFTP: what is asked, in which words, and what the ends mean.
@Suite struct RemoteFileTests {
    private static let source = SourceVersion(
        device: 1, inode: 2, size: 4 << 20, modified: 3, changed: 4)
    private static let temporary = RemoteFile("ftp://h/d/a")?.temporaryName(
        TransferID(rawValue: 7), source)

    private func plan(
        _ url: String, _ state: UploadState, offset: Int64 = 0, inPlace: Bool = false
    ) throws -> UploadExchange {
        var options = UploadOptions()
        options.inPlace = inPlace
        let request = TransferRequest(uploadTo: url, Self.source, options)
        return try #require(state.conversation(request, offset: offset, of: 7).next())
    }

    private static let begun = UploadState(.remoteFile(RemoteFileUpload.Kept()))

    @Test func theNameIsGivenByTheRequestThatSendsAll() throws {
        let name = try #require(Self.temporary)
        let ftp = try plan("ftp://me:pw@h:21/d/a", Self.begun)
        #expect(ftp.url == "ftp://me:pw@h:21/d/\(name)")
        #expect(ftp.body.commands.before == ["*DELE \(name)"])
        #expect(ftp.body.commands.after == ["RNFR \(name)", "RNTO a"])
        let sftp = try plan("sftp://h/~/d/a%22%20b", Self.begun)
        let quoted = try #require(RemoteFile("sftp://h/~/d/a%22%20b")).temporaryName(
            TransferID(rawValue: 7), Self.source
        ).replacing("\"", with: "\\\"")
        #expect(
            sftp.body.commands.after == ["rename \"d/\(quoted)\" \"d/a\\\" b\""])
        #expect(sftp.url.hasPrefix("sftp://h/~/d/.a%22%20b.7-"))
    }

    /// Nothing is renamed, and nothing is continued: what stands there may be another file.
    @Test(arguments: [false, true]) func inPlace(hasBegun: Bool) throws {
        let state = UploadState(
            .remoteFile(
                RemoteFileUpload.Kept(at: hasBegun ? Self.temporary : nil, mustAsk: hasBegun)))
        let exchange = try plan("ftp://h/d/a", state, offset: hasBegun ? 1000 : 0, inPlace: true)
        #expect(exchange.purpose == .whole && exchange.url == "ftp://h/d/a")
        #expect(exchange.range == 0..<Self.source.size && exchange.address == nil)
        #expect(exchange.body.commands.before.isEmpty)
        let name = try #require(Self.temporary)
        #expect(exchange.body.commands.after == (hasBegun ? ["*DELE \(name)"] : []))
    }

    @Test(arguments: [
        ("ftp://h/d/", "directory"), ("ftp://h", "directory"), ("sftp://h/a/..", "directory"),
        ("ftp://h/a%0D%0ADELE%20b", "control"), ("sftp://h/%ff", "UTF-8"),
        ("ftp://h/a;type=a", ";type="), ("ftp://h/%2Fetc/a", nil), ("sftp://h/~/a", nil),
        ("ftp://h/a;type=\u{301}", ";type="), ("sftp://h/\u{301}a", nil),
    ])
    func placesThatAreNone(_ url: String, _ word: String?) throws {
        let problem = try #require(RemoteFile(url)).problem
        #expect((problem == nil) == (word == nil), "\(problem ?? "")")
        if let word { #expect(problem?.firstRange(of: word) != nil, "\(problem ?? "")") }
    }

    // MARK: - Ends

    /// (purpose, libcurl's code and text, bytes sent) and what becomes of it.
    private func judge(
        _ exchange: UploadExchange, _ state: UploadState, offset: Int64 = 0, code: Int32? = nil,
        text: String = "", sent: Int64 = 0, told: Int64? = nil
    ) throws -> (any UploadConversation, UploadVerdict) {
        var end = SegmentEnd(
            failure: code.map { .curl(code: $0, text: text, osError: 0) }, writtenThrough: 0,
            bytesReceived: 0)
        end.bytesSent = sent
        var headers = HeaderFields()
        if let told { headers["Content-Length"] = "\(told)" }
        let head = ResponseHead(
            scheme: .ftp, status: 200, headers: headers, effectiveURL: exchange.url,
            httpVersion: 0, receivedAt: Timestamp(milliseconds: 0))
        let request = TransferRequest(uploadTo: "ftp://h/d/a", Self.source)
        var judge = try state.conversation(request, offset: offset, of: 7)
        let verdict = judge.judge(EndedExchange(exchange, end, code == nil ? head : nil))
        return (judge, verdict)
    }

    private func sentWhole() throws -> (UploadExchange, UploadState) {
        let exchange = try plan("ftp://h/d/a", Self.begun)
        let kept = RemoteFileUpload.Kept(at: exchange.address, sentBound: Self.source.size)
        return (exchange, UploadState(.remoteFile(kept), mayHaveArrived: true))
    }

    /// (size of the temporary file, of the target; `nil` = there is none) and whether it is done.
    @Test(
        arguments: [
            (nil, 4 << 20, true), (nil, 100, false), (nil, nil, false), (100, 4 << 20, false),
        ] as [(Int64?, Int64?, Bool)])
    func aLostLastAnswerIsResolvedByAsking(
        _ temporary: Int64?, _ target: Int64?, _ isDone: Bool
    ) throws {
        let (exchange, state) = try sentWhole()
        var (judge, verdict) = try judge(exchange, state, code: 56, sent: 4 << 20)
        var asked = 0
        while judge.progress.kept.mustAsk, asked < 3 {
            asked += 1
            let ask = try plan("ftp://h/d/a", judge.state)
            let told = judge.state.address == nil ? target : temporary
            (judge, verdict) = try self.judge(
                ask, judge.state, code: told == nil ? 78 : nil, told: told)
            if verdict == .done { break }
        }
        #expect((verdict == .done) == isDone)
        let standing = judge.standing
        if temporary != nil { #expect(standing.offset == temporary && standing.lost == nil) }
        if !isDone, temporary == nil { #expect(standing.lost != nil && standing.offset == 0) }
    }

    /// An earlier connection may append as well: only the size says that nothing came twice.
    @Test(arguments: [(0, false), (1000, true), (-1000, true)] as [(Int64, Bool)])
    func whatWasAppendedIsCounted(_ more: Int64, _ isLost: Bool) throws {
        var (_, state) = try sentWhole()
        state.mayHaveArrived = false
        let append = try plan("ftp://h/d/a", state, offset: 1 << 20)
        #expect(append.purpose == .append && append.body.appendsAt == 1 << 20)
        #expect(append.body.commands == UploadBody.Commands())
        var (judge, verdict) = try judge(append, state, offset: 1 << 20, sent: 3 << 20)
        #expect(verdict == .goOn && judge.progress.kept.mustAsk)
        let ask = try plan("ftp://h/d/a", judge.state, offset: judge.standing.offset)
        (judge, verdict) = try self.judge(
            ask, judge.state, offset: judge.standing.offset, told: (4 << 20) + more)
        #expect((judge.standing.lost != nil) == isLost)
        let next = try plan("ftp://h/d/a", judge.state, offset: judge.standing.offset)
        #expect(next.purpose == (isLost ? .whole : .complete))
    }

    @Test(
        arguments: [
            (25, "550 no", FailureClass.needsInput), (25, "451 later", .transient),
            (9, "denied", .needsInput), (78, "", .needsInput), (7, "", .transient),
        ] as [(Int32, String, FailureClass)])
    func refusalsSayWhatToDo(_ code: Int32, _ text: String, _ kind: FailureClass) throws {
        let (exchange, state) = try sentWhole()
        let (_, verdict) = try judge(exchange, state, code: code, text: text)
        guard case .failed(let failure) = verdict else {
            Issue.record("no failure")
            return
        }
        #expect(failure.kind == kind, "\(failure.error.message)")
    }

    /// (the server's reply to APPE, refusals after which the whole file is sent)
    @Test(
        arguments: [
            ("550 no", 1), ("502 not implemented", 1), ("451 Append/Restart not permitted", 2),
            ("450 busy", 2),
        ] as [(String, Int)])
    func aServerThatDoesNotAppendGetsTheWholeFile(_ reply: String, _ refusals: Int) throws {
        var (_, state) = try sentWhole()
        state.mayHaveArrived = false
        let append = try plan("ftp://h/d/a", state, offset: 1 << 20)
        for refusal in 1...refusals {
            let (judge, _) = try judge(append, state, offset: 1 << 20, code: 25, text: reply)
            #expect((judge.standing.lost != nil) == (refusal == refusals))
            state = judge.state
        }
        #expect(try plan("ftp://h/d/a", state).purpose == .whole)
    }
}
