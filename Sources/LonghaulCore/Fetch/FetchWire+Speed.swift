/// Leaves a source that is too slow.
extension FetchWire {
    /// Stops the requests where their source is too slow; ``elsewhere(_:_:)`` goes on when they
    /// have ended. Returns whether requests are on their way out for that.
    mutating func leaveSlow(_ context: FetchContext, _ step: inout FetchStep) -> Bool {
        if slowness != nil { return true }
        guard fromZero == nil, held == nil, !isEmptying, !segments.isEmpty,
            let rate = frame.run.recentRate.measure(
                received: frame.bytes.state.bytesFetched, at: context.now.monotonic)
        else { return false }
        let options = frame.target.request.options
        let others = mayLeave(context) ? ratesElsewhere(context) : [:]
        let floor = options.minRate.flatMap { $0 < options.limitRate ?? .max ? $0 : nil }
        let speed = SourceSpeed.judge(rate: rate, floor: floor, others: others)
        switch speed {
        case .stay: return false
        case .tooSlow, .leave: break
        }
        if let origin = asked(context) {
            step.writes.append(
                .originWorked(
                    origin: origin.origin, bytesPerSecond: rate,
                    http2: frame.run.lastHTTPVersion >= 20))
        }
        slowness = speed
        step.effects.append(.stop(segments.map(\.key)))
        return true
    }

    /// A better source may take over, and nothing is lost by that. Each source is left once in a
    /// run, and the last one is kept. A transfer that holds itself back tells nothing about its
    /// source.
    private func mayLeave(_ context: FetchContext) -> Bool {
        let options = frame.target.request.options
        if options.limitRate != nil || options.yields ?? frame.target.request.isDiscretionary {
            return false
        }
        guard frame.run.sourcesFailed + 1 < frame.target.sources.count,
            let validator = frame.bytes.state.validator
        else { return false }
        return validator.length != nil && asked(context)?.ignoresRanges != true
            && !segments.contains { $0.head?.headers.refusesRanges == true }
    }

    /// The rates of sources at other origins that may be asked.
    private func ratesElsewhere(_ context: FetchContext) -> [Int: Double] {
        var rates: [Int: Double] = [:]
        let own = asked(context)?.origin
        for (index, url) in frame.target.sources.enumerated() {
            let memory = url == frame.target.request.url ? context.origin : context.mirrors[url]
            guard let memory, memory.origin != own, !memory.isCooling(at: context.now.wall),
                let rate = memory.bytesPerSecond
            else { continue }
            rates[index] = rate
        }
        return rates
    }

    /// The requests of a slow source have ended.
    mutating func elsewhere(
        _ context: FetchContext, _ step: inout FetchStep
    ) -> WireOutcome? {
        guard segments.isEmpty, let slowness else { return nil }
        self.slowness = nil
        switch slowness {
        case .stay: preconditionFailure("a source that is not slow is not left")
        case .tooSlow:
            return tryElsewhere(
                Failure.slow(frame.target.request.options.minRate), context, &step)
        case .leave(let index):
            frame.run.sourceFailed(Failure.slow(nil))
            while frame.bytes.state.source % frame.target.sources.count != index {
                frame.bytes.nextSource(in: frame.target)
            }
            frame.run.moved(received: frame.bytes.state.bytesFetched, at: context.now.monotonic)
            askNext(context, &step)
            return nil
        }
    }
}

extension Failure {
    /// The source is slower than the user wants; `nil` = than another one was.
    static func slow(_ floor: Int64?) -> Failure {
        let bound = floor.map { "\(SizeText.shown($0))/s" } ?? "another source"
        let seconds = Int(Limits.slowSourceSeconds)
        return Failure(
            .transient,
            LonghaulError(.timedOut, "the server was slower than \(bound) for \(seconds) s"))
    }
}
