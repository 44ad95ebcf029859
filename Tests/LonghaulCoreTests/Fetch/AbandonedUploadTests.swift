import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// What uploads have left at servers: how it is taken away, and when that is given up.
@Suite struct AbandonedUploadTests {
    private static let source = SourceVersion(
        device: 1, inode: 2, size: 9, modified: 3, changed: 4)

    private func upload(
        _ progress: UploadProgress, to url: String, attempts: Int = 1
    ) -> AbandonedUpload {
        AbandonedUpload(
            id: 1, fetch: FetchID(rawValue: 1), transfer: TransferID(rawValue: 1),
            request: TransferRequest(uploadTo: url, Self.source), state: UploadState(progress),
            attempts: attempts)
    }

    private func tus(_ address: String, terminates: Bool? = true) -> UploadProgress {
        var kept = TusUpload.Kept(at: address)
        kept.terminates = terminates
        return .tus(kept)
    }

    @Test func eachProtocolHasItsRequest() throws {
        let tus = upload(tus("http://h/r/1"), to: "http://h/a").exchange
        #expect(tus?.body.method == "DELETE" && tus?.url == "http://h/r/1")
        #expect(tus?.headers["Tus-Resumable"] == "1.0.0")
        let ietf = upload(.at(.ietf8, "http://h/r/1"), to: "http://h/a").exchange
        #expect(ietf?.headers["Upload-Draft-Interop-Version"] == "8")
        let s3 = upload(.s3(S3Upload.Kept(at: "u%2F1")), to: "http://h/b/a").exchange
        #expect(s3?.url == "http://h/b/a?uploadId=u%2F1")
        #expect(s3?.signature != nil)
        let file = RemoteFileUpload.Kept(at: ".a.part")
        let ftp = upload(.remoteFile(file), to: "ftp://h/a").exchange
        #expect(ftp?.body.commands.before.contains { $0.hasPrefix("*DELE ") } == true)
        #expect(upload(.plain(PlainUpload.Kept()), to: "http://h/a").exchange == nil)
    }

    /// (extensions; what the server offers is known then, and an upload is deleted)
    @Test(
        arguments: [
            ("creation,termination", true), ("creation, expiration , termination", true),
            ("creation", false), (nil, false),
        ] as [(String?, Bool)])
    func aTusServerIsAskedBefore(_ extensions: String?, _ isDeleted: Bool) throws {
        let unknown = upload(tus("http://h/r/1", terminates: nil), to: "http://h/a")
        let question = try #require(unknown.exchange)
        #expect(question.body.method == "OPTIONS" && question.url == "http://h/a")
        var headers = HeaderFields()
        headers["Tus-Extension"] = extensions
        func head(_ status: Int) -> ResponseHead {
            ResponseHead(
                scheme: .http, status: status, headers: headers, effectiveURL: "http://h/a",
                httpVersion: 11, receivedAt: Timestamp(milliseconds: 0))
        }
        let known = try #require(unknown.afterQuestion(head(204)))
        #expect(known.exchange?.body.method == (isDeleted ? "DELETE" : nil))
        #expect(known.afterQuestion(head(204)) == nil)
        #expect(unknown.afterQuestion(head(503)) == nil && !unknown.isSettled(by: head(503)))
        #expect(unknown.afterQuestion(head(405)) == nil && unknown.isSettled(by: head(405)))
    }

    /// A server does not repeat them in the address that it gives. Another origin gets none.
    @Test(
        arguments: [
            ("http://me:x@h/a", "http://h/r/1", "http://me:x@h/r/1"),
            ("http://me:x@h:80/a", "http://h/r/1", "http://me:x@h/r/1"),
            ("http://me:x@h/a", "http://it:y@h/r/1", "http://it:y@h/r/1"),
            ("http://me:x@h/a", "http://h:81/r/1", "http://h:81/r/1"),
            ("http://me:x@h/a", "https://h/r/1", "https://h/r/1"),
            ("http://me:x@h/a", "http://g/r/1", "http://g/r/1"),
            ("http://h/a", "http://h/r/1", "http://h/r/1"),
        ])
    func userAndPasswordOfTheURLGoAlong(
        _ url: String, _ address: String, _ asked: String
    ) throws {
        #expect(upload(tus(address), to: url).exchange?.url == asked)
        for spoken in [SpokenUploads.tus, .ietf9] {
            for mustAsk in [true, false] {
                let left = upload(.at(spoken, address, mustAsk: mustAsk), to: url)
                if spoken == .ietf9 { #expect(left.exchange?.url == asked) }
                #expect(try left.state.conversation(left.request).next()?.url == asked)
            }
        }
    }

    /// The URL was changed since.
    @Test(
        arguments: [
            (nil, "http://h/new", .tus, "http://h/new", true),
            ("http://h/new", "http://h/new", .tus, "http://h/new", true),
            ("http://me:a@h/new", "http://me:b@h/new", .tus, "http://me:b@h/new", true),
            ("http://h/old", "http://h/new", .tus, "http://h/old", true),
            ("http://old/f", "http://new/f", .tus, "http://old/f", false),
            ("ftp://old/f", "sftp://old/f", .auto, "ftp://old/f", false),
            ("http://old/f", "http://new/f", .s3, "http://old/f", true),
        ] as [(String?, String, UploadProtocol, String, Bool)])
    func itIsTakenAwayWhereItIs(
        _ asked: String?, _ url: String, _ way: UploadProtocol, _ at: String, _ keeps: Bool
    ) {
        var request = TransferRequest(url: url, destination: .file("/f"))
        request.options.upload = UploadOptions()
        request.options.upload?.uploadProtocol = way
        request.options.user = "me:secret"
        request.options.headers["Authorization"] = "Bearer x"
        request.options.headers["Accept"] = "text/html"
        request.options.clientCertificate = "/c.pem"
        request.options.clientKey = "/k.pem"
        let left = AbandonedUpload.request(request, askedURL: asked)
        #expect(left.url == at)
        #expect((left.options == request.options) == keeps)
        if keeps { return }
        #expect(left.options.user == nil && left.options.clientKey == nil)
        #expect(left.options.clientCertificate == nil)
        #expect(left.options.headers.fields.map(\.name) == ["Accept"])
    }

    /// (status, attempts, is settled)
    @Test(
        arguments: [
            (204, 1, true), (200, 1, true), (404, 1, true), (410, 1, true), (403, 1, true),
            (405, 1, true), (409, 1, false), (423, 1, false), (429, 1, false), (503, 5, false),
            (503, 6, true), (nil, 1, false), (nil, 5, false), (nil, 6, true),
        ] as [(Int?, Int, Bool)])
    func whatMayPassIsTriedAgain(_ status: Int?, _ attempts: Int, _ isSettled: Bool) {
        let head = status.map {
            ResponseHead(
                scheme: .http, status: $0, headers: HeaderFields(), effectiveURL: "http://h/r/1",
                httpVersion: 11, receivedAt: Timestamp(milliseconds: 0))
        }
        let upload = upload(tus("http://h/r/1"), to: "http://h/a", attempts: attempts)
        #expect(upload.isSettled(by: head) == isSettled)
    }

    /// Keys that have expired may be renewed within the time of the attempts.
    @Test(arguments: [401, 403]) func theKeysOfAProfileMayBeRenewed(_ status: Int) {
        let head = ResponseHead(
            scheme: .http, status: status, headers: HeaderFields(), effectiveURL: "http://h/b/a",
            httpVersion: 11, receivedAt: Timestamp(milliseconds: 0))
        var abandoned = upload(.s3(S3Upload.Kept(at: "u")), to: "http://h/b/a")
        #expect(abandoned.isSettled(by: head))
        abandoned.request.options.s3 = S3Access()
        abandoned.request.options.s3?.profile = S3Profile(
            name: "work", credentialsFile: "/c/credentials", configFile: "/c/config")
        #expect(!abandoned.isSettled(by: head))
        abandoned.attempts = Limits.uploadAbortAttempts
        #expect(abandoned.isSettled(by: head))
    }

    @Test func attemptsBecomeRarer() {
        let pauses = (1...5).map { AbandonedUpload.pause(after: $0) }
        #expect(pauses == [10, 40, 160, 640, 2560])
    }
}
