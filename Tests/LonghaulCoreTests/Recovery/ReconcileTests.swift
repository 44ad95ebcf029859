import LonghaulCore
import Testing

/// Every pair of a record and what stands on disk, and what a new engine does about it. Of 1000
/// bytes, 600 are durable and 200 more were written in this boot, unless the row says otherwise.
@Suite struct ReconcileTests {
    private static let ours = FileIdentity(device: 1, inode: 10)
    private static let other = FileIdentity(device: 1, inode: 99)
    private static let durable = ByteRanges(0..<600)
    private static let written = ByteRanges(600..<800)

    private enum Part: CaseIterable {
        case missing, whole, longEnough, short, empty, longer, other, unusable

        var entry: FileFacts.Entry {
            switch self {
            case .missing: .missing
            case .whole: .present(ours, size: 1000)
            case .longEnough: .present(ours, size: 800)
            case .short: .present(ours, size: 500)
            case .empty: .present(ours, size: 0)
            case .longer: .present(ours, size: 1001)
            case .other: .present(ReconcileTests.other, size: 1000)
            case .unusable: .unusable(errno: 5)
            }
        }
    }

    private enum There: CaseIterable {
        case missing, ours, oursChanged, other, unusable

        var entry: FileFacts.Entry {
            switch self {
            case .missing: .missing
            case .ours: .present(ReconcileTests.ours, size: 1000)
            case .oursChanged: .present(ReconcileTests.ours, size: 999)
            case .other: .present(ReconcileTests.other, size: 1000)
            case .unusable: .unusable(errno: 13)
            }
        }
    }

    private func fetch(
        durable: ByteRanges, validator: Bool = true, isNamed: Bool = false
    ) -> FetchState {
        var state = FetchState(id: FetchID(rawValue: 1))
        state.partPath = "/d/.f.1.longhaul-part"
        state.partIdentity = Self.ours
        state.durable = durable
        state.validator = validator ? Validator(etag: "\"a\"", length: 1000) : nil
        state.bytesTotal = validator ? 1000 : nil
        state.publication = isNamed ? "/d/f" : nil
        return state
    }

    /// Whatever the disk shows, and nothing of it is looked at: the leader's row says it.
    @Test func aFollowerGoesBackToItsFetch() {
        for part in Part.allCases {
            for there in There.allCases {
                let facts = FileFacts(part: part.entry, destination: there.entry)
                func act(follows: Bool) -> RecoveryAction {
                    reconcile(
                        fetch: fetch(durable: Self.durable), follows: follows, facts: facts,
                        written: Self.written)
                }
                #expect(act(follows: true) == .rejoin)
                #expect(act(follows: false) != .rejoin)
            }
        }
    }

    private func act(
        _ part: Part, _ there: There, isNamed: Bool = false, durable: ByteRanges = durable,
        written: ByteRanges = written
    ) -> RecoveryAction {
        reconcile(
            fetch: fetch(durable: durable, isNamed: isNamed),
            facts: FileFacts(part: part.entry, destination: there.entry), written: written)
    }

    private func expected(whileRunning part: Part) -> RecoveryAction {
        switch part {
        case .whole, .longEnough, .longer: .requeue(have: ByteRanges(0..<800))
        case .short: .requeue(have: ByteRanges(0..<500))
        case .empty: .restart(.partFileShorter)
        case .missing: .restart(.partFileMissing)
        case .other: .restart(.partFileReplaced)
        case .unusable: .requeue(have: Self.durable)
        }
    }

    /// Whatever has the destination's name is none of ours before the name was recorded, nor while
    /// bytes are missing.
    @Test(arguments: [false, true]) func running(isNamed: Bool) {
        for part in Part.allCases {
            for there in There.allCases {
                #expect(
                    act(part, there, isNamed: isNamed) == expected(whileRunning: part),
                    "\(part) \(there)")
            }
        }
    }

    /// The rename came through, the sync of the directory failed, and somebody asked again.
    @Test func runningAgainAfterItsDirectoryFailed() {
        let whole = ByteRanges(0..<1000)
        for there in There.allCases {
            let action = act(.missing, there, durable: whole, written: ByteRanges())
            let mayBeThere = there == .ours || there == .unusable
            #expect(
                action == (mayBeThere ? .requeue(have: whole) : .restart(.partFileMissing)),
                "\(there)")
        }
    }

    @Test func aboutToBePublished() {
        let whole = ByteRanges(0..<1000)
        for part in Part.allCases {
            for there in There.allCases {
                let action = act(
                    part, there, isNamed: true, durable: whole, written: ByteRanges())
                let expected: RecoveryAction =
                    switch (part, there) {
                    case (_, .ours): .markCompleted
                    case (_, .oursChanged): .restart(.partFileReplaced)
                    case (.whole, .missing), (.whole, .other), (.whole, .unusable): .republish
                    case (.longer, _): .restart(.partFileReplaced)
                    case (.longEnough, _): .requeue(have: ByteRanges(0..<800))
                    case (.short, _): .requeue(have: ByteRanges(0..<500))
                    case (.empty, _): .restart(.partFileShorter)
                    // Not a word of what has its name: it may be the file itself.
                    case (.missing, .unusable): .requeue(have: whole)
                    case (.missing, _): .restart(.partFileMissing)
                    case (.other, _): .restart(.partFileReplaced)
                    case (.unusable, _): .requeue(have: whole)
                    }
                #expect(action == expected, "\(part) \(there)")
            }
        }
    }

    /// Nothing was held, so that nothing is lost, whatever became of the files.
    @Test func nothingHeld() {
        for part in Part.allCases {
            for there in There.allCases {
                let action = act(
                    part, there, durable: ByteRanges(), written: ByteRanges())
                let expected: RecoveryAction =
                    part == .unusable ? .requeue(have: ByteRanges()) : .requeueFresh
                #expect(action == expected, "\(part) \(there)")
            }
        }
    }

    /// What the page cache of another mount had is not in this one's.
    @Test(arguments: [(7, 7), (7, 8), (0, 8), (7, 0), (0, 0)] as [(UInt64, UInt64)])
    func whatWasWrittenThroughAnotherMount(_ then: UInt64, _ now: UInt64) {
        let facts = FileFacts(part: Part.whole.entry, destination: .missing, mount: now)
        func act(_ durable: ByteRanges) -> RecoveryAction {
            reconcile(
                fetch: fetch(durable: durable), facts: facts, written: Self.written, through: then)
        }
        let all = Self.durable.union(Self.written)
        #expect(act(Self.durable) == .requeue(have: then == now ? all : Self.durable))
        if then != now { #expect(act(ByteRanges()) == .requeueFresh) }
    }

    @Test func noRecord() {
        let facts = FileFacts(part: Part.whole.entry, destination: There.ours.entry)
        #expect(reconcile(fetch: nil, facts: facts, written: Self.written) == .requeueFresh)
        var unnamed = fetch(durable: ByteRanges())
        unnamed.partIdentity = nil
        #expect(
            reconcile(fetch: unnamed, facts: facts, written: Self.written)
                == .requeueFresh)
    }

    /// Bytes without a record of the version that they are of cannot be gone on from.
    @Test func bytesOfNoVersion() {
        let facts = FileFacts(part: Part.whole.entry, destination: .missing)
        let state = fetch(durable: ByteRanges(), validator: false)
        #expect(
            reconcile(fetch: state, facts: facts, written: Self.written)
                == .requeueFresh)
    }

    @Test func gapsStay() {
        var durable = ByteRanges(0..<100)
        durable.insert(400..<600)
        let written = ByteRanges(700..<800)
        var all = durable
        all.insert(700..<800)
        #expect(
            act(.whole, .missing, durable: durable, written: written)
                == .requeue(have: all))
        var cut = ByteRanges(0..<100)
        cut.insert(400..<500)
        #expect(
            act(.short, .missing, durable: durable, written: written)
                == .requeue(have: cut))
    }

    /// Never more than the record claims, never more than the file holds.
    @Test(arguments: 0..<20) func whatIsKeptIsThere(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        func ranges() -> ByteRanges {
            var set = ByteRanges()
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                let start = Int64.random(in: 0...900, using: &random)
                set.insert(start..<start + Int64.random(in: 0...300, using: &random))
            }
            return set
        }
        for _ in 0..<500 {
            let (durable, written) = (ranges(), ranges())
            let size = Int64.random(in: 0...1300, using: &random)
            let facts = FileFacts(part: .present(Self.ours, size: size), destination: .missing)
            let action = reconcile(
                fetch: fetch(durable: durable), facts: facts, written: written)
            let claimed = durable.union(written)
            guard case .requeue(let have) = action else {
                #expect((claimed.ranges.first?.lowerBound ?? .max) >= size, "seed \(seed)")
                continue
            }
            for range in have.ranges {
                #expect(claimed.contains(range) && range.upperBound <= size, "seed \(seed)")
            }
            let lost = claimed.count - have.count
            #expect(
                lost
                    == claimed.ranges.reduce(0) {
                        $0 + max(0, $1.upperBound - max(size, $1.lowerBound))
                    })
        }
    }
}
