/// Makes a failing script small: leaves out chunks of commands (ddmin), then simplifies the
/// arguments of the remaining ones, until nothing can go any more.
struct ModelShrinker {
    /// True for a script that fails in the way that is looked for.
    let fails: ([ModelStep]) -> Bool
    /// Scripts that may be tried.
    var triesLeft = 600

    init(fails: @escaping ([ModelStep]) -> Bool) {
        self.fails = fails
    }

    mutating func shrink(_ script: [ModelStep]) -> [ModelStep] {
        var best = script
        while triesLeft > 0 {
            let shorter = withoutChunks(best)
            let simpler = withSimplerSteps(shorter)
            if simpler == best { break }
            best = simpler
        }
        return best
    }

    private mutating func isBetter(_ script: [ModelStep]) -> Bool {
        if triesLeft <= 0 { return false }
        triesLeft -= 1
        return fails(script)
    }

    /// Chunks of half of the script, then of a quarter, down to single commands.
    private mutating func withoutChunks(_ script: [ModelStep]) -> [ModelStep] {
        var best = script
        var size = max(1, best.count / 2)
        while true {
            var start = 0
            while start < best.count {
                var candidate = best
                candidate.removeSubrange(start..<min(start + size, best.count))
                if isBetter(candidate) { best = candidate } else { start += size }
            }
            if size == 1 { return best }
            size = max(1, size / 2)
        }
    }

    private mutating func withSimplerSteps(_ script: [ModelStep]) -> [ModelStep] {
        var best = script
        for index in best.indices {
            var isSimplest = false
            while !isSimplest {
                isSimplest = true
                for step in best[index].simpler {
                    var candidate = best
                    candidate[index] = step
                    if isBetter(candidate) {
                        best = candidate
                        isSimplest = false
                        break
                    }
                }
            }
        }
        return best
    }
}

extension ModelStep {
    /// The same with one argument less, or with a smaller one. No chain of them has a circle.
    var simpler: [ModelStep] {
        var steps = command.simpler.map { ModelStep(command: $0, isKilled: isKilled) }
        if isKilled { steps.insert(ModelStep(command: command), at: 0) }
        return steps
    }
}

extension ModelCommand {
    fileprivate var simpler: [ModelCommand] {
        switch self {
        case .enqueue(let request): request.simpler.map { .enqueue($0) }
        case .want(let verb, let selection, true):
            [.want(verb, selection, keepBytes: false)]
        case .sleep(let seconds) where seconds > 1:
            [.sleep(seconds: 1), .sleep(seconds: seconds / 2)]
        case .kill(let effects) where effects > 0: [.kill(after: 0), .kill(after: effects - 1)]
        case .powerCut(let effects) where effects > 0:
            [.kill(after: effects), .powerCut(after: 0), .powerCut(after: effects - 1)]
        case .powerCut: [.kill(after: 0)]
        case .acknowledge(let nth, let alone) where nth > 0: [.acknowledge(0, alone: alone)]
        case .conditions(let network, false): [.conditions(network, power: true)]
        case .conditions(.metered, true): [.conditions(.unmetered, power: true)]
        case .clock(let seconds) where abs(seconds) > 1: [.clock(seconds: seconds / 2)]
        case .want, .set, .remove, .acknowledge, .conditions, .answer, .touch, .unlink, .clock,
            .sleep, .kill, .leave, .rest:
            []
        }
    }
}

extension ModelRequest {
    fileprivate var simpler: [ModelRequest] {
        var all: [ModelRequest] = []
        func offer(_ edit: (inout ModelRequest) -> Void) {
            var request = self
            edit(&request)
            if request != self { all.append(request) }
        }
        offer { $0.after = [] }
        offer { $0.afterAny = false }
        offer { $0.session = "default" }
        offer { $0.policy = .fail }
        offer { $0.priority = 1 }
        offer { $0.earliest = nil }
        offer { $0.deadline = nil }
        offer { $0.power = false }
        offer { $0.unmetered = false }
        offer { $0.url = 0 }
        offer { $0.file = 0 }
        return all
    }
}
