import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// Whole lives of uploads to S3, with several parts at a time, answers in any order, and a crash at
/// any effect: what was committed is all that the next life knows.
@Suite struct S3SimulationTests {
    private static let partSize: Int64 = 5 << 20
    /// Seven parts, the last one short.
    private static let source = SourceVersion(
        device: 1, inode: 2, size: 6 * partSize + 1000, modified: 3, changed: 4)

    private struct Life {
        var server: SimS3Server
        var random: SeededGenerator
        var stored = FetchState(id: FetchID(rawValue: 1))
        var serial: Int64 = 1
        var outcome: StoreWrite?
        var crashes = 0
        /// Most requests that were out at a time.
        var most = 0
        private var out: [UploadAsk] = []
        private var isGone = false

        init(seed: UInt64) {
            server = SimS3Server(size: source.size, partSize: partSize, seed: seed)
            random = SeededGenerator(seed: seed &+ 1)
        }

        private func request() -> TransferRequest {
            var request = TransferRequest(url: "http://h/a", destination: .file("/f"))
            var options = UploadOptions()
            options.uploadProtocol = .s3
            options.partSize = partSize
            options.source = source
            request.options.upload = options
            return request
        }

        /// One life of an engine, from the claim until it leaves or crashes.
        mutating func live(trouble: Double) {
            let machine = FetchMachine(
                transfer: TransferID(rawValue: 1), request: request(), destination: "/f",
                deadline: nil, state: stored, firstSerial: serial)
            serial += 1000
            out = []
            isGone = false
            perform(machine.begin(), machine, trouble)
            while !out.isEmpty, !isGone {
                let ask = out.remove(at: Int.random(in: 0..<out.count, using: &random))
                let (head, end) = server.serve(ask.exchange, trouble: trouble)
                if let head {
                    perform(machine.handle(.head(ask.key, head), in: context), machine, trouble)
                }
                if isGone { return }
                perform(machine.handle(.ended(ask.key, end), in: context), machine, trouble)
            }
        }

        private mutating func perform(
            _ step: FetchStep, _ machine: FetchMachine, _ trouble: Double
        ) {
            // Before the commit, or after it and before the effects.
            if isGone || crashes(trouble) { return }
            for write in step.writes {
                switch write {
                case .save(let state): stored = state
                case .completed, .failed, .cancelled, .needsInput:
                    #expect(outcome == nil, "one end")
                    outcome = write
                default: break
                }
            }
            if crashes(trouble) { return }
            for effect in step.effects {
                switch effect {
                case .openSource:
                    perform(machine.handle(.opened(source), in: context), machine, trouble)
                case .send(let ask):
                    out.append(ask)
                    most = max(most, out.count)
                case .stop(let keys):
                    let end = SegmentEnd(failure: .stopped, writtenThrough: 0, bytesReceived: 0)
                    for ask in out where keys.contains(ask.key) {
                        out.removeAll { $0.key == ask.key }
                        perform(machine.handle(.ended(ask.key, end), in: context), machine, 0)
                    }
                case .close(let deletingPart):
                    #expect(!deletingPart, "the file is its owner's")
                case .release: break
                default: Issue.record("an upload asks for \(effect)")
                }
            }
        }

        private mutating func crashes(_ trouble: Double) -> Bool {
            guard Double.random(in: 0..<1, using: &random) < trouble / 10 else { return false }
            crashes += 1
            isGone = true
            return true
        }

        private var context: FetchContext {
            FetchContext(
                now: Moment(
                    wall: Timestamp(milliseconds: 1000),
                    monotonic: Instant(nanoseconds: 1_000_000_000)),
                origin: OriginMemory(origin: "http://h:80"), connectionsAllowed: 6, seed: 1)
        }
    }

    @Test func theServerHasTheObjectInTheEnd() {
        var most = 0
        for seed in 0..<UInt64(2000) {
            var life = Life(seed: seed * 7 + 1)
            for round in 0..<400 where life.outcome == nil {
                life.live(trouble: round < 60 ? 0.3 : 0)
            }
            guard case .completed(_, _, let totals)? = life.outcome else {
                Issue.record("seed \(seed): \(String(describing: life.outcome)) \(life.stored)")
                continue
            }
            #expect(totals.bytesDone == Self.source.size, "seed \(seed)")
            #expect(life.server.files >= 1, "seed \(seed)")
            #expect(!life.server.wasJoinedTooSoon, "seed \(seed)")
            #expect(life.stored.upload?.address == nil, "seed \(seed)")
            most = max(most, life.most)
        }
        #expect(most == 4)
    }

    @Test func withoutTroubleEachPartIsSentOnce() {
        var life = Life(seed: 1)
        life.live(trouble: 0)
        #expect(life.outcome != nil)
        #expect(life.server.taken == Self.source.size)
        #expect(life.server.files == 1)
        #expect(!life.server.isLeftOpen)
    }
}
