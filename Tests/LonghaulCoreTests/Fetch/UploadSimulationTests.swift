import Testing

@testable import LonghaulCore

/// Whole lives of uploads against a server that loses and forgets, with a crash at any effect: what
/// was committed is all that the next life knows.
@Suite struct UploadSimulationTests {
    private static let source = SourceVersion(
        device: 1, inode: 2, size: 40 << 20, modified: 3, changed: 4)

    private struct Life {
        let dialect: UploadDialect
        let options: UploadOptions
        var server: SimUploadServer
        var random: SeededGenerator
        /// What is committed.
        var stored = FetchState(id: FetchID(rawValue: 1))
        var serial: Int64 = 1
        var outcome: StoreWrite?
        var requests = 0
        var crashes = 0

        init(_ dialect: UploadDialect, _ way: UploadProtocol, seed: UInt64) {
            self.dialect = dialect
            var options = UploadOptions()
            options.uploadProtocol = way
            options.source = source
            self.options = options
            server = SimUploadServer(dialect: dialect, size: source.size, seed: seed)
            random = SeededGenerator(seed: seed &+ 1)
        }

        mutating func happens(_ chance: Double) -> Bool {
            Double.random(in: 0..<1, using: &random) < chance
        }

        /// One life of an engine, from the claim until it leaves or crashes.
        mutating func live(trouble: Double) {
            var request = TransferRequest(url: "http://h/a", destination: .file("/f"))
            request.options.upload = options
            var machine = FetchMachine(
                transfer: TransferID(rawValue: 1), request: request, destination: "/f",
                deadline: nil, state: stored, firstSerial: serial)
            serial += 1000
            var steps = [machine.begin()]
            while let step = steps.popLast() {
                // Before the commit, or after it and before the effects.
                if happens(trouble / 10) { return crashes += 1 }
                commit(step)
                if happens(trouble / 10) { return crashes += 1 }
                for effect in step.effects {
                    switch effect {
                    case .openSource:
                        steps.append(machine.handle(.opened(source), in: context))
                    case .send(let ask):
                        requests += 1
                        let (heads, end) = server.serve(ask.exchange, trouble: trouble)
                        for head in heads {
                            let event: FetchEvent =
                                head.status == 104 ? .interim(ask.key, head) : .head(ask.key, head)
                            commit(machine.handle(event, in: context))
                        }
                        if happens(trouble / 10) { return crashes += 1 }
                        steps.append(machine.handle(.ended(ask.key, end), in: context))
                    case .close(let deletingPart):
                        #expect(!deletingPart, "the file is its owner's")
                    case .release: break
                    default: Issue.record("an upload asks for \(effect)")
                    }
                }
            }
        }

        private var context: FetchContext {
            FetchContext(
                now: Moment(
                    wall: Timestamp(milliseconds: 1000),
                    monotonic: Instant(nanoseconds: 1_000_000_000)),
                origin: OriginMemory(origin: "http://h:80"), connectionsAllowed: 1, seed: 1)
        }

        private mutating func commit(_ step: FetchStep) {
            for write in step.writes {
                switch write {
                case .save(let state): stored = state
                case .completed, .failed, .cancelled, .needsInput:
                    #expect(outcome == nil, "one end")
                    outcome = write
                default: break
                }
            }
        }
    }

    @Test(arguments: [
        (UploadDialect.plain, UploadProtocol.put), (.plain, .auto), (.ietf9, .ietf),
        (.ietf9, .auto), (.ietf8, .ietf), (.ietf6, .auto), (.tus, .tus),
    ])
    func theServerHasTheFileInTheEnd(_ dialect: UploadDialect, _ way: UploadProtocol) {
        for seed in 0..<UInt64(1500) {
            var life = Life(dialect, way, seed: seed * 7 + 1)
            for round in 0..<400 where life.outcome == nil {
                life.live(trouble: round < 60 ? 0.3 : 0)
            }
            guard case .completed(_, _, let totals)? = life.outcome else {
                Issue.record("seed \(seed): \(String(describing: life.outcome)) \(life.stored)")
                continue
            }
            #expect(totals.bytesDone == Self.source.size, "seed \(seed)")
            #expect(life.server.files >= 1, "seed \(seed)")
            #expect(life.stored.upload?.address == nil, "seed \(seed)")
            // Without a crash between a creation and its commit there is no other resource.
            if life.crashes == 0, way == .tus { #expect(life.server.files == 1, "seed \(seed)") }
        }
    }
}
