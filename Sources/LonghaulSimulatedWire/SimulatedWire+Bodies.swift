package import LonghaulCore

/// The bodies of answers.
extension SimulatedWire {
    /// The head is judged as in the transport: with the first byte of the body, or at its end.
    package func judge(_ key: SegmentKey, _ request: SimulatedRequest, _ head: ResponseHead) {
        let verdict = request.request.judge(head)
        let isEmpty = request.served.range.isEmpty || head.status >= 300
        requests[key] = request
        // The body broke off before its first byte: a head alone gives nothing up.
        if !isEmpty, request.served.cutAfter == 0, verdict == .hold {
            return end(key, .curl(code: 18, text: "cut", osError: 104))
        }
        say("\(key) is told \(head.status): \(verdict)")
        facts.append(.head(key, head, verdict))
        switch verdict {
        case .accept(let plan): requests[key]?.open(plan, now: now.monotonic)
        case .hold: requests[key]?.phase = .held
        case .keep: end(key, nil)
        case .redirect, .refuse: end(key, .refused)
        }
    }

    /// A portion of one body.
    func move(_ key: SegmentKey, _ seconds: Double) {
        guard var request = requests[key] else { return }
        if isDown { return end(key, .curl(code: 56, text: "reset", osError: 104)) }
        if let silent = request.served.silentAfter, request.served.sent >= silent { return }
        if let cut = request.served.cutAfter, request.served.sent >= cut,
            !request.served.range.isEmpty
        {
            return end(key, .curl(code: 18, text: "cut", osError: 104))
        }
        let left = Int64(request.served.range.count) - request.served.sent
        if left == 0 {
            let isTooLong = request.served.isTooLong && request.plan.end != nil
            return end(key, isTooLong ? .bodyTooLong : nil)
        }
        let speed = rate(of: request) * variation()
        var count = request.served.bounded(min(left, Int64(speed * seconds) + 1))
        if let stop = request.stopAt, request.plan.compare == 0 {
            // The rest of the buffer still comes.
            count = min(count, max(1, stop - request.position + overshoot()))
        }
        let start = request.served.range.lowerBound + request.served.sent
        request.served.sent += count
        request.received += count
        request.touched = now.monotonic
        willReceive(key, start..<start + count, request)
        let outcome = place(key, start..<start + count, &request)
        let isNoticed = request.isNoticeDue(at: request.position)
        requests[key] = request
        didReceive(count, request)
        if isNoticed { facts.append(.progress(key)) }
        switch outcome {
        case .continues: break
        case .reachedStop: end(key, nil)
        case .failed(let failure): end(key, failure)
        }
    }

    /// Skips, compares, writes, as the transport does.
    private func place(
        _ key: SegmentKey, _ body: Range<Int64>, _ request: inout SimulatedRequest
    ) -> BodyStep {
        var range = body
        let skipped = min(request.plan.skip, Int64(range.count))
        request.plan.skip -= skipped
        range = range.lowerBound + skipped..<range.upperBound
        let compared = min(request.plan.compare, Int64(range.count))
        if compared > 0 {
            let part = range.lowerBound..<range.lowerBound + compared
            guard isHeld(part, at: request.position, request) else {
                return .failed(.overlapDiffers)
            }
            request.plan.compare -= compared
            request.position += compared
            range = part.upperBound..<range.upperBound
        }
        if range.isEmpty { return .continues }
        let stop = request.stopAt ?? .max
        let end = min(stop, request.plan.end ?? .max)
        let count = min(max(0, end - request.position), Int64(range.count))
        let part = range.lowerBound..<range.lowerBound + count
        let (errno, written) = write(part, at: request.position, request)
        request.position += written
        if written > 0 { request.hasWritten = true }
        if written < Int64(range.count) { didWaste(key, Int64(range.count) - written) }
        if errno != 0 { return .failed(.disk(errno: errno)) }
        if request.position >= stop { return .reachedStop }
        return count < Int64(range.count) ? .failed(.bodyTooLong) : .continues
    }
}

private enum BodyStep {
    case continues, reachedStop
    case failed(WireFailure)
}
