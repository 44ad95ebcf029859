import Testing

@testable import LonghaulCore

/// The answer that ends an upload may cross with the word that it is to leave the wire.
@Suite struct UploadEndTests {
    private static let source = SourceVersion(
        device: 1, inode: 2, size: 1000, modified: 3, changed: 4)

    private var context: FetchContext {
        FetchContext(
            now: Moment(
                wall: Timestamp(milliseconds: 1000),
                monotonic: Instant(nanoseconds: 1_000_000_000)),
            origin: OriginMemory(origin: "http://h:80"), connectionsAllowed: 1, seed: 1)
    }

    /// What is recorded of an upload that is to leave while it gets this answer.
    private func writes(
        _ way: UploadProtocol, _ departure: FetchDeparture, _ status: Int
    ) throws -> [StoreWrite] {
        var request = TransferRequest(url: "http://h/a", destination: .file("/f"))
        var options = UploadOptions()
        options.uploadProtocol = way
        options.method = way == .post ? .post : nil
        request.options.upload = options
        var machine = FetchMachine(
            transfer: TransferID(rawValue: 1), request: request, destination: "/f", deadline: nil,
            state: FetchState(id: FetchID(rawValue: 1)), firstSerial: 1)
        _ = machine.begin()
        let effects = machine.handle(.opened(Self.source), in: context).effects
        guard case .send(let ask)? = effects.last else {
            Issue.record("nothing is sent: \(effects)")
            return []
        }
        _ = machine.handle(.leave(departure), in: context)
        var headers = HeaderFields()
        headers["Upload-Complete"] = way == .ietf ? "?1" : nil
        let head = ResponseHead(
            scheme: .http, status: status, headers: headers, effectiveURL: "http://h/a",
            httpVersion: 11, receivedAt: Timestamp(milliseconds: 0))
        _ = machine.handle(.head(ask.key, head), in: context)
        var end = SegmentEnd(failure: nil, writtenThrough: 0, bytesReceived: 0)
        end.bytesSent = Self.source.size
        return machine.handle(.ended(ask.key, end), in: context).writes
    }

    @Test(
        arguments: [UploadProtocol.put, .post, .ietf], [FetchDeparture.requeue, .expire])
    func whatTheServerHasIsCompleted(
        _ way: UploadProtocol, _ departure: FetchDeparture
    ) throws {
        let isCompleted = try writes(way, departure, 200).contains {
            if case .completed = $0 { true } else { false }
        }
        #expect(isCompleted)
    }

    /// Another URL may be wanted.
    @Test func anotherRequestIsMadeAllTheSame() throws {
        let isQueued = try writes(.put, .renew, 200).contains {
            if case .queued = $0 { true } else { false }
        }
        #expect(isQueued)
    }

    @Test func aCancelStands() throws {
        let isCancelled = try writes(.put, .cancel(keepingBytes: false), 200).contains {
            if case .cancelled = $0 { true } else { false }
        }
        #expect(isCancelled)
    }

    @Test func aRefusalIsNoEndOfOneThatLeaves() throws {
        let isQueued = try writes(.post, .requeue, 503).contains {
            if case .queued = $0 { true } else { false }
        }
        #expect(isQueued)
    }

    @Test func anotherNumberOfItsDiskIsNoChangeOfAFile() throws {
        var request = TransferRequest(url: "http://h/a", destination: .file("/f"))
        var options = UploadOptions()
        options.uploadProtocol = .put
        options.source = Self.source
        request.options.upload = options
        var machine = FetchMachine(
            transfer: TransferID(rawValue: 1), request: request, destination: "/f", deadline: nil,
            state: FetchState(id: FetchID(rawValue: 1)), firstSerial: 1)
        _ = machine.begin()
        var opened = Self.source
        opened.device += 1
        let isSent = machine.handle(.opened(opened), in: context).effects.contains {
            if case .send = $0 { true } else { false }
        }
        #expect(isSent)
    }

    /// The server still has what was sent of the file as it was.
    @Test func whatBelongsToAnotherVersionIsAbandoned() throws {
        var request = TransferRequest(url: "http://h/a", destination: .file("/f"))
        var options = UploadOptions()
        options.uploadProtocol = .tus
        options.ifChanged = .restart
        request.options.upload = options
        var state = FetchState(id: FetchID(rawValue: 1))
        var upload = UploadState()
        upload.dialect = .tus
        upload.address = "http://h/r/1"
        upload.source = Self.source
        state.upload = upload
        var machine = FetchMachine(
            transfer: TransferID(rawValue: 1), request: request, destination: "/f", deadline: nil,
            state: state, firstSerial: 1)
        _ = machine.begin()
        var changed = Self.source
        changed.modified += 1
        let step = machine.handle(.opened(changed), in: context)
        let isAbandoned = step.writes.contains {
            guard case .abandonUpload(_, let state) = $0 else { return false }
            return state.upload?.address == "http://h/r/1"
        }
        // No power cut takes back the event of the restart.
        #expect(isAbandoned && step.durable)
    }
}
