import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// What an upload finds out of its server, and what its origin is remembered to speak at URLs that
/// speak something else.
@Suite struct UploadMemoryTests {
    /// What a whole upload has asked, and its end.
    private struct Conversation {
        var asked: [String] = []
        var end: StoreWrite?
        var state = FetchState(id: FetchID(rawValue: 1))
        var memory: OriginMemory

        var isCompleted: Bool {
            if case .completed? = end { return true }
            return false
        }

        var isToBeTriedAgain: Bool {
            if case .queued? = end { return true }
            return false
        }
    }

    private func upload(
        _ way: UploadProtocol, known: SpokenUploads?, size: Int64 = 5 << 20,
        _ method: UploadMethod? = nil, from state: FetchState? = nil,
        at server: (UploadExchange) -> (status: Int, fields: [String: String])
    ) -> Conversation {
        let source = SourceVersion(device: 1, inode: 2, size: size, modified: 3, changed: 4)
        var request = TransferRequest(url: "http://h/p/a", destination: .file("/f"))
        var options = UploadOptions()
        options.uploadProtocol = way
        options.method = way == .post ? .post : method
        options.source = source
        request.options.upload = options
        var conversation = Conversation(memory: OriginMemory(origin: "http://h:80"))
        conversation.memory.uploads = known
        conversation.state = state ?? conversation.state
        let machine = FetchMachine(
            transfer: TransferID(rawValue: 1), request: request, destination: "/f", deadline: nil,
            state: conversation.state, firstSerial: 1)
        var steps = [machine.begin()]
        while let step = steps.popLast(), conversation.asked.count < 12 {
            for write in step.writes {
                switch write {
                case .save(let state): conversation.state = state
                case .learn(_, let lesson): conversation.memory.learn(lesson)
                case .completed, .failed, .queued, .needsInput: conversation.end = write
                default: break
                }
            }
            let context = FetchContext(
                now: Moment(
                    wall: Timestamp(milliseconds: 1000),
                    monotonic: Instant(nanoseconds: 1_000_000_000)),
                origin: conversation.memory, connectionsAllowed: 1, seed: 1)
            for effect in step.effects {
                switch effect {
                case .openSource: steps.append(machine.handle(.opened(source), in: context))
                case .send(let ask):
                    let exchange = ask.exchange
                    conversation.asked.append(Self.line(exchange))
                    let (status, fields) = server(exchange)
                    var end = SegmentEnd(failure: nil, writtenThrough: 0, bytesReceived: 0)
                    if status == Self.unreachable {
                        end.failure = .curl(code: 7, text: "refused", osError: 111)
                    } else {
                        _ = machine.handle(.head(ask.key, head(status, fields)), in: context)
                        end.bytesSent = Int64(exchange.range.count)
                    }
                    steps.append(machine.handle(.ended(ask.key, end), in: context))
                default: break
                }
            }
        }
        return conversation
    }

    /// No answer: there was no connection.
    private static let unreachable = 0

    private static func line(_ exchange: UploadExchange) -> String {
        let version = exchange.headers["Upload-Draft-Interop-Version"].map { " \($0)" } ?? ""
        let tus = exchange.headers.contains("Tus-Resumable") ? " tus" : ""
        return exchange.body.method + version + tus
    }

    private func head(_ status: Int, _ fields: [String: String]) -> ResponseHead {
        var headers = HeaderFields()
        for (name, value) in fields { headers[name] = value }
        return ResponseHead(
            scheme: .http, status: status, headers: headers, effectiveURL: "http://h/p/a",
            httpVersion: 11, receivedAt: Timestamp(milliseconds: 0))
    }

    private enum OtherVersion: CaseIterable { case refused, named, ignored }

    /// Speaks one version of the draft.
    private func draft(
        _ version: Int, others: OtherVersion = .refused, limits: String = "max-age=60"
    ) -> (UploadExchange) -> (Int, [String: String]) {
        { exchange in
            switch (exchange.body.method, exchange.headers["Upload-Draft-Interop-Version"]) {
            case ("OPTIONS", "\(version)"): (204, ["Upload-Limit": limits])
            case ("OPTIONS", _) where others == .ignored: (200, ["Allow": "PUT, POST"])
            case ("PUT", _) where others == .ignored && exchange.headers["Upload-Complete"] == nil:
                (201, [:])
            case ("POST", "\(version)"), ("PUT", "\(version)"):
                exchange.completes
                    ? (200, ["Upload-Complete": "?1"])
                    : (201, ["Location": "/r/1", "Upload-Offset": "0"])
            case ("PATCH", "\(version)"): (200, ["Upload-Complete": "?1"])
            case ("PUT", _) where others == .ignored, ("POST", _) where others == .ignored:
                (201, [:])
            default: (400, others == .named ? ["Upload-Draft-Interop-Version": "\(version)"] : [:])
            }
        }
    }

    // MARK: - Asking first

    @Test(arguments: [9, 8, 6]) func eachVersionIsAskedFor(_ version: Int) {
        let before = [9, 8, 6].filter { $0 >= version }
        for others in OtherVersion.allCases {
            let asked =
                (others == .named ? Set([9, version]).sorted(by: >) : before)
                .map { "OPTIONS \($0)" }
            for (size, rest) in [(Int64(5 << 20), ["POST", "PATCH"]), (1000, ["POST"])] {
                let named = upload(
                    .ietf, known: nil, size: size, at: draft(version, others: others))
                #expect(named.isCompleted)
                #expect(named.asked == asked + rest.map { "\($0) \(version)" })
                #expect(named.memory.uploads?.rawValue == "ietf\(version)")
                let found = upload(
                    .auto, known: nil, size: size, at: draft(version, others: others))
                #expect(found.isCompleted)
                #expect(
                    found.asked == asked.map { $0 + " tus" } + rest.map { "\($0) \(version)" })
            }
        }
    }

    /// The answer to the creation decides, and no byte of the file goes out before. A PUT without a
    /// byte would empty the file.
    @Test(arguments: [nil, UploadMethod.put, .post], [0, 1000, 5 << 20] as [Int64])
    func nothingIsSentToAServerThatDoesNotSpeakIt(_ method: UploadMethod?, _ size: Int64) {
        let asks = ["OPTIONS 9", "OPTIONS 8", "OPTIONS 6"]
        let creates = method == .put ? [] : ["POST 9"]

        for status in [200, 204, 400, 404, 405, 501] {
            let found = upload(.ietf, known: nil, size: size, method) { exchange in
                #expect(exchange.range.isEmpty)
                return exchange.body.method == "OPTIONS" ? (status, [:]) : (201, [:])
            }
            #expect(found.asked == asks + creates)
            guard case .failed(_, let error, _)? = found.end else {
                Issue.record("\(String(describing: found.end))")
                continue
            }
            let words =
                method == .put
                ? "nothing was sent; try --protocol auto" : "does not say where the upload goes"
            #expect(error.message.contains(words))
            let spoken = upload(.ietf, known: nil, size: size, method) { exchange in
                switch exchange.body.method {
                case "OPTIONS": (status, [:])
                case "POST": (201, ["Location": "http://h/r/1"])
                default: (204, ["Upload-Complete": "?1", "Upload-Offset": "\(size)"])
                }
            }
            #expect(spoken.isCompleted == (method != .put))
        }
        for status in [401, 403, 503] {
            let found = upload(.ietf, known: nil, size: size, method) { _ in (status, [:]) }
            #expect(found.asked == ["OPTIONS 9"] + (status == 503 ? [] : creates))
            #expect(!found.isCompleted)
        }
    }

    /// Where a file is to be replaced, its own URL is asked.
    @Test func aPutAsksEachURL() {
        let plain = upload(.ietf, known: .ietf9, .put) { _ in (204, [:]) }
        #expect(plain.asked == ["OPTIONS 9", "OPTIONS 8", "OPTIONS 6"])
        let spoken = upload(.ietf, known: .ietf9, .put, at: draft(9))
        #expect(spoken.asked == ["OPTIONS 9", "PUT 9", "PATCH 9"] && spoken.isCompleted)
    }

    /// An answer that names no resource is one of a URL that does not speak it.
    @Test func aRememberedVersionThatIsIgnoredHereIsForgotten() {
        let found = upload(.ietf, known: .ietf9, at: draft(6, others: .ignored))
        #expect(
            found.asked == [
                "POST 9", "OPTIONS 9", "OPTIONS 8", "OPTIONS 6", "POST 6", "PATCH 6",
            ])
        #expect(found.isCompleted && found.memory.uploads == .ietf6)
    }

    @Test(arguments: [9, 8, 6]) func aSmallerFileGoesAsEver(_ version: Int) {
        let server = draft(version, others: .ignored, limits: "min-size=2000000, max-size=9000000")
        let small = upload(.auto, known: nil, size: 1_999_999, at: server)
        #expect(small.isCompleted && small.asked.last == "PUT")
        #expect(small.memory.uploads?.rawValue == "ietf\(version)")
        let large = upload(.auto, known: nil, size: 2_000_000, at: server)
        #expect(large.isCompleted && large.asked.last == "PATCH \(version)")
        for size in [1_999_999, 9_000_001] as [Int64] {
            let refused = upload(.ietf, known: nil, size: size, at: server)
            #expect(!refused.isCompleted && refused.asked.last == "OPTIONS \(version)")
        }
    }

    // MARK: - What is remembered

    @Test(arguments: [SpokenUploads.ietf6, .ietf8], [Int64(1000), 5 << 20])
    func aVersionThatIsNotSpokenHereIsForgotten(_ known: SpokenUploads, _ size: Int64) {
        let version = known == .ietf6 ? 6 : 8
        let found = upload(.ietf, known: known, size: size, at: draft(9))
        #expect(found.isCompleted)
        #expect(found.asked.prefix(3) == ["POST \(version)", "OPTIONS 9", "POST 9"])
        #expect(found.memory.uploads != known)
    }

    @Test func withAutoTheServerIsAskedAnew() {
        let found = upload(.auto, known: .ietf6, at: draft(9))
        #expect(found.isCompleted)
        #expect(found.asked == ["PUT 6", "OPTIONS 9 tus", "POST 9", "PATCH 9"])
        #expect(found.memory.uploads == .ietf9)
    }

    @Test func anOlderVersionIsFoundBelowARememberedOne() {
        let found = upload(.ietf, known: .ietf9, at: draft(6))
        #expect(found.isCompleted)
        #expect(
            found.asked == [
                "POST 9", "OPTIONS 9", "OPTIONS 8", "OPTIONS 6", "POST 6", "PATCH 6",
            ])
        #expect(found.memory.uploads == .ietf6)
    }

    @Test func aRefusalThatIsNotOfTheDialectIsAnError() {
        let found = upload(.ietf, known: .ietf6) { _ in (413, [:]) }
        #expect(found.asked == ["POST 6"])
        #expect(!found.isCompleted)
        #expect(found.memory.uploads == .ietf6)
    }

    /// A plain server would carry out the empty POST that tus begins with.
    @Test func nothingIsPostedToAURLThatIsNotKnownToSpeakTus() {
        let found = upload(.auto, known: .tus) { exchange in
            exchange.body.method == "OPTIONS" ? (405, [:]) : (201, [:])
        }
        #expect(found.isCompleted)
        #expect(
            found.asked == ["OPTIONS 9 tus", "OPTIONS 8 tus", "OPTIONS 6 tus", "PUT 9"])
        #expect(found.memory.uploads == .plain)
    }

    @Test(arguments: [SpokenUploads.tus, .plain, .ietf8])
    func tusIsFoundWhateverTheOriginSpokeElsewhere(_ known: SpokenUploads) {
        let found = upload(.auto, known: known) { exchange in
            switch exchange.body.method {
            case "OPTIONS": (204, ["Tus-Version": "1.0.0"])
            case "POST": (201, ["Location": "/p/1"])
            case "PATCH": (204, ["Upload-Offset": "\(5 << 20)"])
            default: (405, [:])
            }
        }
        #expect(found.isCompleted)
        #expect(found.asked.suffix(3) == ["OPTIONS 9 tus", "POST tus", "PATCH tus"])
        #expect(found.memory.uploads == .tus)
    }

    // MARK: - Finding out

    @Test(arguments: [429, 502, 503, 504])
    func aBusyServerIsNotAnAnswer(_ status: Int) {
        let found = upload(.auto, known: nil) { _ in (status, ["Retry-After": "60"]) }
        #expect(found.asked == ["OPTIONS 9 tus"])
        #expect(found.isToBeTriedAgain)
    }

    /// What was found out while the URL answered something else is found out again.
    @Test func aRefusedUploadAsksAnewWhenItIsTriedAgain() {
        let first = upload(.auto, known: nil) { _ in (404, [:]) }
        #expect(first.asked.last == "PUT 9" && !first.isCompleted)
        let second = upload(.auto, known: nil, from: first.state) { exchange in
            switch exchange.body.method {
            case "OPTIONS": (204, ["Tus-Version": "1.0.0"])
            case "POST": (201, ["Location": "/p/1"])
            case "PATCH": (204, ["Upload-Offset": "\(5 << 20)"])
            default: (405, [:])
            }
        }
        #expect(second.asked == ["OPTIONS 9 tus", "POST tus", "PATCH tus"])
        #expect(second.isCompleted)
    }

    /// Of an empty file no byte can tell whether its request went out.
    @Test(arguments: [UploadProtocol.post, .ietf])
    func anEmptyPostThatFoundNoServerIsTriedAgain(_ way: UploadProtocol) {
        let first = upload(way, known: nil, size: 0) { _ in (Self.unreachable, [:]) }
        #expect(first.isToBeTriedAgain)
        let second = upload(way, known: nil, size: 0, from: first.state) { _ in
            (200, ["Upload-Complete": "?1", "Upload-Limit": "min-size=0"])
        }
        #expect(second.isCompleted)
    }
}
