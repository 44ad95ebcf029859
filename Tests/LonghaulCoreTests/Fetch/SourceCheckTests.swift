import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// A source is compared with the digest of its request before anything is sent.
@Suite struct SourceCheckTests {
    private static let source = SourceVersion(
        device: 1, inode: 2, size: 1000, modified: 3, changed: 4)
    private static let digest = Checksum(algorithm: .sha1, hex: String(repeating: "a", count: 40))

    private static let context = FetchContext(
        now: Moment(
            wall: Timestamp(milliseconds: 1000), monotonic: Instant(nanoseconds: 1_000_000_000)),
        origin: OriginMemory(origin: "http://h:80"), connectionsAllowed: 4, seed: 1)

    struct Way: Sendable, CustomTestStringConvertible {
        var name: UploadProtocol
        var url = "http://h/a"
        var testDescription: String { "\(name) \(url)" }
    }

    static let ways =
        UploadProtocol.allCases.map { Way(name: $0) }
        + ["ftp://h/a", "sftp://h/a"].map { Way(name: .auto, url: $0) }

    private func machine(
        _ way: Way, ifChanged: SourceChangePolicy = .fail,
        from state: FetchState = FetchState(id: FetchID(rawValue: 1))
    ) -> FetchMachine {
        var request = TransferRequest(url: way.url, destination: .file("/f"))
        var options = UploadOptions()
        options.uploadProtocol = way.name
        options.method = way.name == .post ? .post : nil
        options.source = Self.source
        options.ifChanged = ifChanged
        request.options.upload = options
        request.options.checksum = Self.digest
        let machine = FetchMachine(
            transfer: TransferID(rawValue: 1), request: request, destination: "/f", deadline: nil,
            state: state, firstSerial: 1)
        _ = machine.begin()
        return machine
    }

    private func isSending(_ step: FetchStep) -> Bool {
        step.effects.contains { if case .send = $0 { true } else { false } }
    }

    private func isReading(_ step: FetchStep) -> Bool {
        step.effects.contains {
            if case .verify([Self.digest], length: 1000) = $0 { true } else { false }
        }
    }

    private func error(_ step: FetchStep) -> LonghaulError? {
        step.writes.lazy.compactMap {
            if case .failed(_, let error, _) = $0 { error } else { nil }
        }.first
    }

    @Test(arguments: ways) func nothingIsSentBefore(_ way: Way) {
        let machine = machine(way)
        let opened = machine.handle(.opened(Self.source), in: Self.context)
        #expect(isReading(opened) && !isSending(opened))
        let verified = machine.handle(.verified, in: Self.context)
        #expect(isSending(verified))
    }

    @Test(arguments: ways) func anotherFileIsNotSent(_ way: Way) {
        let machine = machine(way)
        _ = machine.handle(.opened(Self.source), in: Self.context)
        let step = machine.handle(
            .mismatched(Self.digest, actual: "bb", keptAt: "/f"), in: Self.context)
        #expect(!isSending(step) && machine.stage == .left)
        #expect(error(step)?.code == .checksumMismatch)
        #expect(error(step)?.message.contains("sha1 is bb") == true)
        #expect(step.effects.contains { if case .close(false) = $0 { true } else { false } })
    }

    /// What was found is recorded; a version that was not read, is.
    @Test func itIsReadOnce() throws {
        let first = machine(Way(name: .put))
        _ = first.handle(.opened(Self.source), in: Self.context)
        let step = first.handle(.verified, in: Self.context)
        let state = try #require(
            step.writes.lazy.compactMap {
                if case .save(let state) = $0 { state } else { nil }
            }.first)
        let second = machine(Way(name: .put), from: state)
        #expect(isSending(second.handle(.opened(Self.source), in: Self.context)))
        var changed = Self.source
        changed.modified += 1
        let third = machine(Way(name: .put), ifChanged: .restart, from: state)
        let again = third.handle(.opened(changed), in: Self.context)
        #expect(isReading(again) && !isSending(again))
        // A kill before the end of the reading leaves nothing that would spare it.
        let killed = machine(Way(name: .put), from: first.state)
        killed.change { $0.bytes.state.upload?.checked = nil }
        #expect(isReading(killed.handle(.opened(Self.source), in: Self.context)))
    }

    /// The outcome of the reading comes too late then.
    @Test(arguments: [FetchDeparture.requeue, .cancel(keepingBytes: false), .expire])
    func itLeavesAtOnce(_ departure: FetchDeparture) {
        let machine = machine(Way(name: .put))
        _ = machine.handle(.opened(Self.source), in: Self.context)
        let left = machine.handle(.leave(departure), in: Self.context)
        #expect(machine.stage == .left && !isSending(left))
        #expect(!isSending(machine.handle(.verified, in: Self.context)))
    }

    /// The file was written to while it was read.
    @Test(arguments: [SourceChangePolicy.fail, .restart])
    func aChangeIsToldAsOne(_ policy: SourceChangePolicy) {
        let machine = machine(Way(name: .put), ifChanged: policy)
        _ = machine.handle(.opened(Self.source), in: Self.context)
        let fault = LocalFault(code: .sourceChanged, message: "changed")
        let step = machine.handle(.verifyFailed(fault), in: Self.context)
        #expect(error(step)?.code == (policy == .fail ? .sourceChanged : nil))
        let isQueued = step.writes.contains { if case .queued = $0 { true } else { false } }
        #expect(isQueued == (policy == .restart))
    }
}
