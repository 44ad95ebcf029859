@testable import LonghaulCore
@testable import LonghaulModel
import Testing

@Suite struct FailureTableTests {
    @Test(arguments: [
        (400, FailureClass.permanent, LonghaulError.Code.clientError),
        (401, .needsInput, .unauthorized),
        (403, .needsInput, .forbidden),
        (404, .needsInput, .notFound),
        (405, .permanent, .clientError),
        (407, .needsInput, .unauthorized),
        (408, .transient, .clientError),
        (409, .permanent, .clientError),
        (410, .needsInput, .notFound),
        (412, .permanent, .clientError),
        (416, .permanent, .clientError),
        (425, .transient, .clientError),
        (429, .transient, .clientError),
        (451, .permanent, .clientError),
        (500, .transient, .serverError),
        (503, .transient, .serverError),
        (599, .transient, .serverError),
        (302, .permanent, .serverError),
        (202, .transient, .serverError),
        (101, .transient, .serverError),
        (600, .transient, .serverError),
    ])
    func status(status: Int, kind: FailureClass, code: LonghaulError.Code) {
        let failure = FailureTable.classify(status: status)
        #expect(failure.kind == kind)
        #expect(failure.error.code == code)
        #expect(failure.error.httpStatus == status)
        #expect(failure.error.retryable == (kind == .transient))
        #expect(failure.retryAfter == nil)
        #expect(failure.error.message.contains("\(status)"))
    }

    /// A time to wait makes a 403 one that passes; of other refusals it counts only where the user
    /// has them tried again.
    @Test(
        arguments: [
            (403, FailureClass.transient, true), (429, .transient, true), (503, .transient, true),
            (401, .needsInput, false), (404, .needsInput, false), (409, .permanent, false),
        ] as [(Int, FailureClass, Bool)])
    func timeToWait(status: Int, kind: FailureClass, blames: Bool) {
        let failure = FailureTable.classify(status: status, retryAfter: 5)
        #expect(failure.kind == kind)
        #expect(failure.retryAfter == 5)
        #expect(failure.blamesOrigin == blames)
        #expect(failure.error.retryable == (kind == .transient))
        let retried = failure.passing(for: [status])
        #expect(retried.kind == .transient)
        #expect(retried.retryAfter == 5)
    }

    @Test(
        arguments: [
            (28, FailureClass.waitForStorage, LonghaulError.Code.noSpace),
            (122, .waitForStorage, .noSpace),
            (30, .localFault, .permission),
            (13, .localFault, .permission),
            (1, .localFault, .permission),
            (5, .localFault, .io),
            (27, .localFault, .tooLarge),
            (2, .localFault, .io),
            (116, .localFault, .io),
            (24, .transient, .io),
            (16, .transient, .io),
            (26, .transient, .io),
            (4, .transient, .io),
            (12_345, .localFault, .io),
        ] as [(Int32, FailureClass, LonghaulError.Code)])
    func errno(errno: Int32, kind: FailureClass, code: LonghaulError.Code) {
        let failure = FailureTable.classify(errno: errno)
        #expect(failure.kind == kind)
        #expect(failure.error.code == code)
        #expect(!failure.blamesOrigin)
        #expect(FailureTable.classify(.disk(errno: errno)) == failure)
    }

    @Test(
        arguments: [
            (1, FailureClass.permanent, LonghaulError.Code.unsupported, false),
            (3, .permanent, .invalidRequest, false),
            (5, .transient, .dns, true),
            (6, .transient, .dns, true),
            (7, .transient, .network, true),
            (9, .needsInput, .forbidden, false),
            (16, .transient, .network, true),
            (18, .transient, .network, true),
            (19, .transient, .serverError, true),
            (23, .localFault, .io, false),
            (27, .transient, .io, false),
            (28, .transient, .timedOut, true),
            (31, .restartFromZero, .network, false),
            (35, .transient, .tls, true),
            (36, .restartFromZero, .network, false),
            (47, .permanent, .clientError, false),
            (51, .permanent, .tls, false),
            (52, .transient, .network, true),
            (55, .transient, .network, true),
            (56, .transient, .network, true),
            (58, .permanent, .tls, false),
            (60, .permanent, .tls, false),
            (63, .permanent, .tooLarge, false),
            (67, .needsInput, .unauthorized, false),
            (77, .permanent, .tls, false),
            (78, .needsInput, .notFound, false),
            (79, .transient, .serverError, true),
            (90, .permanent, .tls, false),
            (92, .transient, .network, true),
            (97, .transient, .network, true),
            (98, .permanent, .tls, false),
            (9999, .transient, .network, false),
        ] as [(Int32, FailureClass, LonghaulError.Code, Bool)])
    func curl(code: Int32, kind: FailureClass, error: LonghaulError.Code, blames: Bool) {
        let failure = FailureTable.classify(
            .curl(code: code, text: "Some\u{1B}[31m words", osError: 0))
        #expect(failure?.kind == kind)
        #expect(failure?.error.code == error)
        #expect(failure?.error.curlCode == Int(code))
        #expect(failure?.blamesOrigin == blames)
        #expect(failure?.error.message.contains("Some\\u{1B}[31m words") == true)
        #expect((failure?.restart != nil) == (kind == .restartFromZero))
    }

    @Test func aRefusedClientCertificateInTheHandshakeIsFinal() {
        let text = "error:0A000412:SSL routines::sslv3 alert bad certificate"
        #expect(FailureTable.classify(curl: 35, text: text).kind == .permanent)
        #expect(FailureTable.classify(curl: 35, text: "connection reset").kind == .transient)
    }

    /// Under TLS 1.3 it comes after the handshake.
    @Test(
        arguments: [
            (56, "SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required", true),
            (55, "SSL_write: error:0A00045C:SSL routines::tlsv13 alert certificate required", true),
            (56, "SSL_read: error:0A000418:SSL routines::tlsv1 alert unknown ca, errno 0", true),
            (35, "error:0A000418:SSL routines::tlsv1 alert unknown ca", true),
            (92, "error:0A000412:SSL routines::sslv3 alert bad certificate", true),
            (56, "SSL_read: error:0A000126:SSL routines::unexpected eof while reading", false),
            (35, "error:0A00042E:SSL routines::tlsv1 alert protocol version", true),
            (35, "error:0A000410:SSL routines::ssl/tls alert handshake failure", true),
            (35, "error:0A000410:SSL routines::sslv3 alert handshake failure", true),
            (35, "error:0A000102:SSL routines::unsupported protocol", true),
            (35, "error:0A00010B:SSL routines::wrong version number", true),
            (35, "error:0A000438:SSL routines::tlsv1 alert internal error", false),
            (56, "Recv failure: Connection reset by peer", false),
        ] as [(Int32, String, Bool)])
    func aClientThatIsRefusedByAnAlert(code: Int32, text: String, isFinal: Bool) {
        let failure = FailureTable.classify(curl: code, text: text)
        #expect(failure.kind == (isFinal ? .permanent : .transient))
        #expect(failure.blamesOrigin != isFinal)
        if isFinal { #expect(failure.error.code == .tls) }
        let isAskedFor = text.contains("required") || text.contains("handshake failure")
        #expect(failure.error.message.contains("give --cert and --key") == isAskedFor)
    }

    @Test func anAnswerThatIsNoHTTPMayBeOneOfAMoment() {
        let text = "Received HTTP/0.9 when not allowed"
        let failure = FailureTable.classify(curl: 1, text: text)
        #expect(failure.kind == .transient && failure.error.code == .serverError)
        #expect(failure.blamesOrigin)
        let other = FailureTable.classify(curl: 1, text: "Protocol \"x\" not supported")
        #expect(other.kind == .permanent && other.error.code == .unsupported)
    }

    /// The same number says that the credentials are wrong and that too many are there.
    @Test(
        arguments: [
            (67, "530 Sorry, the maximum number of clients (2) are already connected.", true),
            (67, "530 Too many users, try again later", true),
            (67, "530-Welcome 530 The server is busy.", true),
            (67, "421 Too many connections", true),
            (28, "421 Service not available, closing control connection.", true),
            (67, "530 Login incorrect.", false),
            (67, "530 Too many failed logins", false),
            (67, "530 Sorry, too many wrong passwords; try again later", false),
            (67, "Access denied: 530", false),
            (67, "Authentication failure", false),
        ] as [(Int32, String, Bool)])
    func aLoginThatFindsNoRoom(code: Int32, reply: String, isTransient: Bool) {
        let failure = FailureTable.classify(curl: code, text: reply)
        #expect(failure.kind == (isTransient ? .transient : .needsInput))
        #expect(failure.error.code == (isTransient ? .serverError : .unauthorized))
        #expect(failure.blamesOrigin == isTransient)
        #expect(failure.error.message.contains("no room") == isTransient)
    }

    /// No authority vouches for an SSH host.
    @Test func anUnknownHostKey() {
        let failure = FailureTable.classify(.unknownHostKey(text: "not OK"))
        #expect(failure?.kind == .permanent && failure?.error.code == .tls)
        #expect(failure?.error.curlCode == 60)
        let message = failure?.error.message ?? ""
        #expect(message.contains("known_hosts") && message.contains("not OK"))
        #expect(!message.contains("--cacert"))
    }

    /// No code of libcurl is left without a class and a sentence.
    @Test func everyCurlCode() {
        for code in Int32(1)...120 {
            let failure = FailureTable.classify(curl: code, text: "")
            #expect(!failure.error.message.isEmpty)
            #expect(failure.error.message.contains("curl \(code)"))
        }
    }

    @Test func aClientKeyThatCannotBeRead() {
        let message = FailureTable.classify(curl: 58, text: "x").error.message
        #expect(message.contains("passphrase"))
    }

    /// The server behind the proxy was never asked, but nobody else of its gets further.
    @Test(
        arguments: [
            (407, FailureClass.needsInput, LonghaulError.Code.unauthorized, "the proxy's URL"),
            (403, .permanent, .forbidden, "--proxy"),
            (405, .permanent, .clientError, "--proxy"),
            (408, .transient, .clientError, "the proxy"),
            (429, .transient, .clientError, "the proxy"),
            (502, .transient, .serverError, "the proxy"),
            (503, .transient, .serverError, "the proxy"),
            (302, .transient, .serverError, "the proxy"),
        ] as [(Int, FailureClass, LonghaulError.Code, String)])
    func refusedByTheProxy(
        status: Int, kind: FailureClass, code: LonghaulError.Code, advice: String
    ) throws {
        let failure = try #require(FailureTable.classify(.proxyRefused(status: status)))
        #expect(failure.kind == kind)
        #expect(failure.error.code == code)
        #expect(failure.error.httpStatus == status)
        #expect(failure.error.message.contains(advice))
        #expect(failure.error.message.contains("\(status)"))
        #expect(failure.blamesOrigin == (kind == .transient))
    }

    @Test func wireFacts() {
        #expect(FailureTable.classify(.stopped) == nil)
        #expect(FailureTable.classify(.refused) == nil)
        #expect(FailureTable.classify(.overlapDiffers)?.restart == .overlapDiffers)
        #expect(FailureTable.classify(.bodyTooLong)?.restart == .lengthDisagrees)
        #expect(FailureTable.classify(.stalled)?.kind == .transient)
        #expect(FailureTable.classify(.stalled)?.error.code == .timedOut)
        #expect(FailureTable.classify(.headTooLarge)?.error.code == .tooLarge)
        for problem in [
            RedirectProblem.tooMany, .scheme("file"), .downgrade, .missingLocation,
        ] {
            #expect(FailureTable.classify(.redirect(problem))?.kind == .permanent)
        }
        let shown = FailureTable.classify(.redirect(.scheme("a\u{1B}")))?.error.message
        #expect(shown?.contains("a\\u{1B}:") == true)
    }

    /// What a program of somebody else's shows names no option and no command.
    @Test(arguments: [
        (
            "the server has no such file (404); give another URL with `set --url`, then `resume`",
            "the server has no such file (404)"
        ),
        ("the key is unknown; put it there, then `resume`", "the key is unknown; put it there"),
        (
            "it exists by now and was kept, as --if-exists skip says; it was dropped",
            "it exists by now and was kept; it was dropped"
        ),
        (
            "it is taken by transfer 3, which `longhaul resume 3` goes on with; choose another",
            "it is taken by transfer 3; choose another"
        ),
        ("no room; given up after 3 retries, `retry` goes on", "no room; given up after 3 retries"),
        ("a name is wrong; check it", "a name is wrong; check it"),
        ("`x` alone", "x alone"),
        ("there is no program `crontab`; install it", "there is no program crontab; install it"),
        (
            "it lacks 1 MiB for the 2 MiB that are expected (see --expect); free some, or `set` it",
            "it lacks 1 MiB for the 2 MiB that are expected; free some"
        ),
        (
            "/a/B -- C.flac exists; choose another name",
            "/a/B -- C.flac exists; choose another name"
        ),
        ("give --user; try again", "try again"),
        ("give --user", "network"),
    ]) func theMessageForPrograms(full: String, plain: String) {
        #expect(LonghaulError(.network, full).plainMessage == plain)
    }

    @Test func everyFailureHasAMessageForPrograms() {
        var failures = (0...120).map {
            FailureTable.classify(curl: $0, text: "words", osError: 0)
        }
        failures += (300...599).map { FailureTable.classify(status: $0) }
        failures += (1...130).map { FailureTable.classify(errno: $0) }
        for failure in failures {
            let plain = failure.error.plainMessage
            #expect(!plain.contains(" --") && !plain.contains("`"), "\(plain)")
            #expect(plain.hasPrefix(failure.error.message.prefix(12)), "\(plain)")
        }
    }
}
