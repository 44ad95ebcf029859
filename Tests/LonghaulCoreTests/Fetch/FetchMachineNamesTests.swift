import LonghaulCore
import Testing

/// Several servers behind one URL: what another name for the version costs.
@Suite struct FetchMachineNamesTests {
    typealias Script = FetchMachineTests.Script

    private static let mib: Int64 = 1 << 20
    private static let digest = Checksum(
        algorithm: .sha256, hex: String(repeating: "0", count: 64))
    private let rest = "Content-Range: bytes 4128768-10485759/10485760"

    private func at(_ host: String, _ answer: ResponseHead) -> ResponseHead {
        var answer = answer
        answer.otherOrigin = "http://\(host):80"
        return answer
    }

    /// 4 of 10 MiB came from the mirror `m`.
    private func heldOfM(_ change: (inout TransferRequest) -> Void = { _ in }) -> Script {
        var pinned = Validator(etag: "\"m\"", length: 10 * Self.mib)
        pinned.origin = "http://m:80"
        return Script(
            held: 4 * Self.mib, validator: pinned, total: 10 * Self.mib, askedURL: "http://h/f",
            change)
    }

    @Test func aRedirectNamesTheOrigin() {
        var script = Script()
        script.answer(at("m", head(200, "ETag: \"m\"", "Content-Length: 10485760")))
        #expect(script.machine.state.validator?.origin == "http://m:80")
    }

    @Test func anotherMirrorIsComparedAtOnce() {
        var script = heldOfM()
        script.answer(at("n", head(200, "ETag: \"n\"", "Content-Length: 10485760")))
        script.ended(.refused, through: 0, received: 0)
        #expect(script.ranges == ["bytes=4194304-", "bytes=4128768-"])
        #expect(script.asks.map { $0.ask.headers["If-Range"] } == ["\"m\"", nil])
        script.answer(at("o", head(206, rest, "ETag: \"o\"")))
        #expect(script.machine.state.validator?.etag == "\"m\"", "nothing was compared yet")
        script.wrote(through: 5 * Self.mib, received: Self.mib + 65536)
        let validator = script.machine.state.validator
        #expect(validator?.etag == "\"o\"" && validator?.origin == "http://o:80")
        #expect(script.machine.state.restarts == 0 && script.machine.state.emptyAnswers == 1)
        script.ended(.curl(code: 56, text: "", osError: 104), through: 5 * Self.mib, received: 1)
        #expect(script.machine.have.count == 5 * Self.mib && script.machine.state.emptyAnswers == 0)
    }

    @Test func aMirrorWhoseBytesDifferIsFoundOut() {
        var script = heldOfM()
        script.answer(at("n", head(200, "ETag: \"n\"", "Content-Length: 10485760")))
        script.ended(.refused, through: 0, received: 0)
        script.answer(at("n", head(206, rest, "ETag: \"n\"")))
        script.ended(.overlapDiffers, through: 0, received: 65536)
        #expect(script.ranges.last == .some(nil))
        #expect(script.machine.state.validator?.etag == "\"m\"")
    }

    /// A digest that several servers' bytes do not come to: once from zero, then it is the file's.
    @Test(arguments: [true, false]) func aWrongDigestOfSeveral(isJoined: Bool) {
        var script = heldOfM { $0.options.checksum = Self.digest }
        let host = isJoined ? "n" : "m"
        script.answer(
            at(host, head(200, "ETag: \"\(host)\"", "Content-Length: 10485760")))
        if isJoined {
            script.ended(.refused, through: 0, received: 0)
            script.answer(at(host, head(206, rest, "ETag: \"\(host)\"")))
        }
        script.ended(through: 10 * Self.mib, received: 6 * Self.mib + 65536)
        script.event(.mismatched(Self.digest, actual: "1", keptAt: "/d/f.longhaul-bad"))
        switch script.outcome {
        case .queued?: #expect(isJoined && script.machine.state.isDigestRefuted)
        case .failed?: #expect(!isJoined)
        default: Issue.record("\(script.writes)")
        }
    }

    /// As it is after one digest that was wrong: whatever came of whom, there is no second time.
    @Test func aDigestIsRefutedOnce() {
        var state = FetchState(id: FetchID(rawValue: 1))
        state.durable = ByteRanges(0..<10 * Self.mib)
        state.bytesTotal = 10 * Self.mib
        state.validator = Validator(etag: "\"m\"", length: 10 * Self.mib)
        state.validator?.isJoined = true
        state.isDigestRefuted = true
        state.partIdentity = FileIdentity(device: 1, inode: 1)
        var request = TransferRequest(url: "http://h/f", destination: .file("/d/f"))
        request.options.checksum = Self.digest
        let machine = FetchMachine(
            transfer: TransferID(rawValue: 1), request: request, destination: "/d/f",
            deadline: nil, state: state, firstSerial: 1)
        let context = FetchContext(
            now: Moment(wall: receivedAt, monotonic: Instant(nanoseconds: 0)),
            origin: OriginMemory(origin: "http://h:80"), connectionsAllowed: 6, seed: 1)
        _ = machine.begin()
        _ = machine.handle(
            .prepared(
                FileIdentity(device: 1, inode: 1), path: "/d/.f.1.longhaul-part", created: false),
            in: context)
        let step = machine.handle(
            .mismatched(Self.digest, actual: "1", keptAt: "/d/f.longhaul-bad"), in: context)
        #expect(step.writes.contains { if case .failed = $0 { true } else { false } })
    }

    /// The first two cost what is held; the third is compared.
    @Test func serversWithTagsOfTheirOwn() {
        let date = "Last-Modified: Tue, 14 Nov 2023 22:13:00 GMT"
        let length = "Content-Length: 10485760"
        var script = Script()
        script.answer(head(200, "ETag: \"0\"", date, length))
        script.event(.reserved)
        for turn in 1...3 {
            script.wrote(through: 4 * Self.mib, received: 4 * Self.mib)
            script.ended(
                .curl(code: 56, text: "", osError: 104), through: 4 * Self.mib,
                received: 4 * Self.mib)
            script = script.again()
            script.answer(head(200, "ETag: \"\(turn)\"", date, length))
            if turn < 3 { script.event(.truncated) }
        }
        #expect(script.machine.state.restarts == 2)
        script.ended(.refused, through: 0, received: 0)
        #expect(script.ranges.last == "bytes=4128768-")
        #expect(script.asks.last?.ask.headers["If-Range"] == nil)
        script.answer(head(206, rest, "ETag: \"0\"", date))
        script.ended(through: 10 * Self.mib, received: 6 * Self.mib + 65536)
        #expect(script.machine.isWholeForTest && script.machine.state.restarts == 2)
    }
}

extension FetchMachine {
    fileprivate var isWholeForTest: Bool { state.bytesTotal.map { have.contains(0..<$0) } ?? false }
}
