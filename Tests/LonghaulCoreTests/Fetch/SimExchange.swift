import LonghaulCore

/// One request on the simulated wire, as the transport treats it: judged once, then skipped,
/// compared, written.
struct SimExchange {
    let order: SegmentAsk
    private(set) var head: ResponseHead?
    private(set) var plan: BodyPlan?
    private(set) var isHeld = false
    private(set) var received: Int64 = 0
    private(set) var written: Int64
    /// Where writing began.
    private(set) var start: Int64
    /// The fetch's generation that the cell was given.
    private(set) var generation: Int64 = 0
    private var body: Range<Int64> = 0..<0
    private var version = 0

    init(order: SegmentAsk) {
        self.order = order
        start = order.ask.position
        written = order.ask.position
    }

    var isWriting: Bool { plan != nil }

    mutating func take(
        _ head: ResponseHead, body: Range<Int64>, version: Int, verdict: HeadVerdict,
        generation: Int64
    ) {
        self.head = head
        self.body = body
        self.version = version
        self.generation = generation
        switch verdict {
        case .accept(let plan): begin(plan)
        case .hold: isHeld = true
        case .redirect, .keep, .refuse: break
        }
    }

    mutating func begin(_ plan: BodyPlan) {
        isHeld = false
        self.plan = plan
        start = plan.position + plan.compare
        written = start
    }

    mutating func shrink(to end: Int64) {
        plan?.end = end
    }

    /// All of the body has come, or all that is wanted of it.
    var isDone: Bool {
        if received >= body.upperBound - body.lowerBound { return true }
        guard let end = plan?.end else { return false }
        return written >= end && end < body.upperBound
    }

    mutating func receive(
        _ most: Int64, into file: inout SimFile?
    ) -> (bytes: Int64, failure: WireFailure?) {
        guard let plan else { return (0, nil) }
        let before = received
        let from = body.lowerBound + received
        let bytes = min(most, body.upperBound - from)
        received += bytes
        let compared =
            max(
                from, plan.position)..<max(
                min(from + bytes, plan.position + plan.compare), max(from, plan.position))
        if !compared.isEmpty, file?.versions(in: compared) != [version] {
            return (received - before, .overlapDiffers)
        }
        let target = max(from, start)..<max(min(from + bytes, plan.end ?? .max), max(from, start))
        if !target.isEmpty {
            file?.write(target, version: version)
            written = target.upperBound
        }
        return (received - before, nil)
    }
}
