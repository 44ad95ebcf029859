import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// What would fail for good elsewhere, and passes.
@Suite struct PassingFailureTests {
    private typealias Script = FetchMachineTests.Script

    private static let mib: Int64 = 1 << 20
    private static let digest = Checksum(
        algorithm: .sha256, hex: String(repeating: "ab", count: 32))

    private func begun(
        _ url: String, held: Int64 = 0, _ change: (inout TransferRequest) -> Void = { _ in }
    ) -> Script {
        Script(
            held: held, validator: Validator(etag: "\"v1\"", length: 10 * Self.mib),
            total: 10 * Self.mib, askedURL: url
        ) {
            $0.url = url
            change(&$0)
        }
    }

    private func error(_ script: Script) -> LonghaulError? {
        for write in script.writes {
            switch write {
            case .lastError(_, let error): return error
            case .failed(_, let error, _), .needsInput(_, let error, _): return error
            default: break
            }
        }
        return nil
    }

    private func waits(_ script: Script) -> Bool {
        if case .queued? = script.outcome { true } else { false }
    }

    private static let foreign = "SSL certificate problem: self-signed certificate"
    private static let early = "SSL certificate problem: certificate is not yet valid"

    /// A network's login page has a certificate of another; a machine without a clock finds none
    /// valid. An SSH server's key is another matter.
    @Test(
        arguments: [
            ("https://h/f", 0, false, foreign, false), ("https://h/f", 0, true, foreign, true),
            ("https://h/f", 4 << 20, false, foreign, true), ("https://h/f", 0, false, early, true),
            ("ftps://h/f", 4 << 20, false, foreign, true),
            ("sftp://h/f", 4 << 20, true, foreign, false),
        ] as [(String, Int64, Bool, String, Bool)])
    func aCertificate(url: String, held: Int64, isKnown: Bool, words: String, passes: Bool) throws {
        var script = begun(url, held: held)
        script.origin.isVerified = isKnown
        let failure: WireFailure =
            url.hasPrefix("sftp")
            ? .unknownHostKey(text: "x") : .curl(code: 60, text: words, osError: 0)
        script.ended(failure, through: 0, received: 0)
        #expect(waits(script) == passes, "\(script.writes)")
        let message = try #require(error(script)?.message)
        #expect(message.contains("check this machine's clock") == passes, "\(message)")
        #expect(message.contains("--cacert") == (!passes && !url.hasPrefix("sftp")))
    }

    /// What is known is learned from each answer over TLS that was verified, of whatever status.
    @Test(arguments: [
        ("https://h/f", false, 200, true), ("https://h/f", false, 404, true),
        ("https://h/f", true, 200, false), ("http://h/f", false, 200, false),
    ])
    func isRemembered(url: String, insecure: Bool, status: Int, learns: Bool) {
        var script = begun(url) { $0.options.insecure = insecure }
        script.answer(head(status, "Content-Length: 5"))
        #expect(
            script.writes.contains {
                if case .learn(_, .verified) = $0 { true } else { false }
            } == learns)
    }

    /// A secret that is just renewed: twice more where it stands in a file.
    @Test(
        arguments: [
            (401, true, 0, nil, true), (401, true, 1, 401, true), (401, true, 2, 401, false),
            (401, true, 5, 503, true), (401, false, 0, nil, false), (403, true, 0, nil, false),
        ] as [(Int, Bool, Int, Int?, Bool)])
    func aRefusal(status: Int, inFile: Bool, fruitless: Int, last: Int?, passes: Bool) {
        var script = begun("http://h/f") {
            if inFile { $0.options.userFrom = "/s" } else { $0.options.user = "me:a" }
        }
        script.machine.change {
            $0.bytes.state.fruitlessAttempts = fruitless
            $0.target.lastError = last.map {
                LonghaulError(.serverError, "before", httpStatus: $0)
            }
        }
        script.answer(head(status))
        script.ended(.refused, through: 0, received: 0)
        #expect(waits(script) == passes, "\(script.writes)")
    }

    /// The own URL has wrong bytes: each mirror is asked, once, and past the caches.
    @Test func wrongBytesOfTheOwnURL() throws {
        var state = FetchState(id: FetchID(rawValue: 1))
        var sources = ["http://h/f"]
        for round in 0..<4 {
            var request = TransferRequest(url: "http://h/f", destination: .file("/d/f"))
            request.options.checksum = Self.digest
            request.options.mirrors = ["http://m/f", "http://n/f"]
            var script = Script(resuming: state, request)
            let ask = try #require(script.asks.last)
            if round > 0 { sources.append(ask.url) }
            #expect((ask.ask.headers["Cache-Control"] == "no-cache") == (round > 0))
            script.answer(head(200, "Content-Length: 5"))
            script.ended(through: 5, received: 5)
            script.event(.secured)
            script.event(.mismatched(Self.digest, actual: "1", keptAt: "/d/f.longhaul-bad"))
            state = script.machine.state
            if !waits(script) { break }
        }
        #expect(sources == ["http://h/f", "http://m/f", "http://n/f"])
    }

    /// Another program has the name in use for a while, or for ever.
    @Test(arguments: [(0, true), (7, true), (8, false)]) func aBusyName(tries: Int, again: Bool) {
        var script = begun("http://h/f")
        script.answer(head(200, "Content-Length: 5"))
        script.ended(through: 5, received: 5)
        script.machine.change { $0.bytes.state.fruitlessAttempts = tries }
        script.event(.secured)
        var fault = LocalFault(code: .io, message: "busy", isPassing: true)
        fault.isBusy = true
        script.event(.publishFailed(fault))
        #expect(waits(script) == again, "\(script.writes)")
        #expect(error(script)?.code == .io)
    }
}
