import LonghaulCore
import Testing

/// Servers that break off each answer after a while and speak a dialect of ranges, or name each
/// version otherwise: the file becomes whole.
@Suite struct FetchMachineDialectTests {
    typealias Script = FetchMachineTests.Script

    private static let kib: Int64 = 1 << 10
    private static let total = 3000 * kib
    /// Bytes of each answer.
    private static let cut = 700 * kib

    struct Dialect: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// Status, the place where the body begins, and fields, for the nth request of the range.
        var answer: @Sendable (_ range: Range<Int64>?, _ isOpen: Bool, _ turn: Int) -> Answer
    }

    struct Answer {
        var status: Int
        var start: Int64
        var fields: [String]
    }

    private static func part(_ range: Range<Int64>, _ fields: String...) -> Answer {
        Answer(
            status: 206, start: range.lowerBound,
            fields: fields + ["Content-Length: \(range.upperBound - range.lowerBound)"])
    }

    private static func whole(_ status: Int = 200, _ fields: String...) -> Answer {
        Answer(status: status, start: 0, fields: fields + ["Content-Length: \(total)"])
    }

    private static func field(_ range: Range<Int64>) -> String {
        "Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total)"
    }

    private static let tag = "ETag: \"v1\""

    /// As it should be but for Content-Range.
    private static func spelt(
        _ name: String, _ spelling: @escaping @Sendable (Range<Int64>) -> String
    )
        -> Dialect
    {
        Dialect(testDescription: name) { range, _, _ in
            range.map { part($0, tag, "Content-Range: \(spelling($0))") } ?? whole(200, tag)
        }
    }

    private static let dialects = [
        Dialect(testDescription: "a tag and a date of each answer") { range, _, turn in
            let names = [
                "ETag: \"\(turn)\"", "Last-Modified: \(HTTPDate.format(receivedAt + Double(turn)))",
            ]
            // No If-Range holds.
            guard let range, turn.isMultiple(of: 2) else { return whole(200, names[0], names[1]) }
            return part(range, field(range), names[0], names[1])
        },
        Dialect(testDescription: "a date of each answer") { range, _, turn in
            let name = "Last-Modified: \(HTTPDate.format(receivedAt + Double(turn)))"
            return range.map { part($0, field($0), name) } ?? whole(200, name)
        },
        Dialect(testDescription: "ranges that name their end only") { range, isOpen, _ in
            guard let range else { return whole(200, tag) }
            return isOpen
                ? Answer(status: 416, start: 0, fields: [tag]) : part(range, field(range), tag)
        },
        Dialect(testDescription: "206 to each request") { range, _, _ in
            part(range ?? 0..<total, field(range ?? 0..<total), tag)
        },
        spelt("no unit") { "\($0.lowerBound)-\($0.upperBound - 1)/\(total)" },
        spelt("another separator") { "bytes=\($0.lowerBound)-\($0.upperBound - 1)/\(total)" },
        spelt("no end") { "bytes \($0.lowerBound)-/\(total)" },
        spelt("a wrong total") { "bytes \($0.lowerBound)-\($0.upperBound - 1)/\(total + 7)" },
        spelt("a wrong end") { "bytes \($0.lowerBound)-\($0.upperBound)/\(total + 1)" },
        Dialect(testDescription: "no Content-Range") { range, _, _ in
            range.map { part($0, tag) } ?? whole(200, tag)
        },
    ]

    @Test(arguments: dialects) func itBecomesWhole(_ dialect: Dialect) {
        var script = Script()
        var answered = 0
        var received: Int64 = 0
        for turn in 1...40 where !script.machine.isWhole {
            if script.asks.count == answered {
                script = script.again(after: script.lastError)
                answered = 0
            }
            answered += 1
            received += serve(&script, dialect, turn)
        }
        #expect(script.machine.isWhole, "\(script.ranges), \(script.writes)")
        // Two begun anew, and what is compared.
        #expect(received < Self.total + 3 * Self.cut + 12 * Limits.overlapBytes)
    }

    /// Answers the last request and breaks off; returns what it sent.
    private func serve(_ script: inout Script, _ dialect: Dialect, _ turn: Int) -> Int64 {
        let order = script.asks[script.asks.count - 1]
        let ask = order.ask
        let range = ask.sendsRange ? ask.start..<(ask.end ?? Self.total) : nil
        let answer = dialect.answer(range, ask.end == nil, turn)
        var head = head(answer.status)
        for field in answer.fields {
            let parts = field.split(separator: ":", maxSplits: 1)
            head.headers.append(name: String(parts[0]), value: String(parts[1].dropFirst()))
        }
        var plan: BodyPlan?
        switch order.verdict(head) {
        case .accept(let accepted): plan = accepted
        case .hold: plan = BodyPlan(position: 0, end: Self.total)
        case .refuse, .redirect, .keep: break
        }
        script.answer(head)
        guard let plan else {
            script.ended(.refused, through: 0, received: 0)
            return 0
        }
        for effect in script.effects {
            if case .reserve = effect { script.event(.reserved) }
            if case .truncate = effect { script.event(.truncated) }
        }
        let count = min(Self.cut, Self.total - answer.start)
        let first = plan.position + plan.compare
        let isWhole = answer.start + count == Self.total
        script.ended(
            isWhole ? nil : .curl(code: 18, text: "cut", osError: 0),
            through: max(first, answer.start + count), received: count)
        return count
    }

    // MARK: 503

    /// Each range is refused so, with a time to wait or without: once the whole is asked for, and
    /// what is held stays.
    @Test(arguments: [head(503), head(503, "Retry-After: 1")])
    func theWholeIsAskedForOnce(_ answer: ResponseHead) {
        let held = 1000 * Self.kib
        var script = Script(
            held: held, validator: Validator(length: Self.total), total: Self.total,
            askedURL: "http://h/f")
        var other = script
        for _ in 1...3 {
            #expect(script.ranges == ["bytes=\(held - Limits.overlapBytes)-"])
            script.answer(answer)
            script.ended(.refused, through: 0, received: 0)
            #expect(script.asks.count == 1)
            other = script.again(after: script.lastError)
            script = script.again(after: script.lastError)
        }
        #expect(script.ranges == [nil] && other.ranges == [nil])
        other.answer(answer)
        other.ended(.refused, through: 0, received: 0)
        other = other.again(after: other.lastError)
        #expect(other.ranges != [nil], "once")
        script.answer(head(200, "Content-Length: \(Self.total)"))
        script.ended(through: Self.total, received: Self.total)
        #expect(script.machine.isWhole && script.machine.state.restarts == 0)
    }

    /// What the server does is said where nothing is gained by it.
    @Test func theReasonSaysWhatTheServerDoes() {
        var script = Script(
            held: 1000 * Self.kib, validator: Validator(etag: "\"v1\"", length: Self.total),
            total: Self.total, askedURL: "http://h/f")
        script.answer(head(200, Self.tag, "Content-Length: \(Self.total)"))
        script.ended(
            .curl(code: 18, text: "cut", osError: 0), through: 0, received: 500 * Self.kib)
        #expect(script.lastError?.message.contains("the whole file again") == true)
    }
}
