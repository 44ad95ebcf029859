import LonghaulCore

/// Draws a script: commands of several people, what happens to the machine, and crashes.
struct ModelDraw {
    private var random: SeededGenerator
    private var labels = 0

    init(seed: UInt64) {
        // The world of the same seed draws other numbers.
        random = SeededGenerator(seed: seed ^ 0x6d6f_6465_6c00_0000)
    }

    mutating func script() -> [ModelStep] {
        var steps: [ModelStep] = []
        let count = Int.random(in: 6...40, using: &random)
        // In most scripts few kinds of things happen: those that always come together hide each
        // other.
        let crashes = random.happens(0.6)
        let machine = random.happens(0.7)
        while steps.count < count {
            var step = ModelStep(command: command(crashes: crashes, machine: machine))
            step.isKilled = crashes && step.command.isOfClient && random.happens(0.06)
            steps.append(step)
            if random.happens(0.35) { steps.append(ModelStep(command: .sleep(seconds: pause()))) }
        }
        steps.append(ModelStep(command: .rest))
        return steps
    }

    private mutating func pause() -> Int {
        [1, 1, 2, 5, 30, 600].randomElement(using: &random) ?? 1
    }

    private mutating func command(crashes: Bool, machine: Bool) -> ModelCommand {
        if labels == 0 { return .enqueue(request()) }
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<22: return .enqueue(request())
        case 22..<52: return want()
        case 52..<58: return .set(label(), change())
        case 58..<64: return .remove(label())
        case 64..<70: return .acknowledge(Int.random(in: 0..<4, using: &random), alone: flip())
        case 70..<80 where machine: return condition()
        case 80..<84 where machine: return file()
        case 84..<87 where machine:
            return .clock(
                seconds: [-3600, -90, 45, 600, 7200, 86_400].randomElement(using: &random) ?? 0)
        case 87..<94 where crashes: return crash()
        default: return .rest
        }
    }

    private mutating func flip() -> Bool { Bool.random(using: &random) }

    /// Most of the time a recent one.
    private mutating func label() -> Int {
        Int.random(in: (flip() ? max(0, labels - 3) : 0)..<max(1, labels), using: &random)
    }

    private mutating func request() -> ModelRequest {
        let url = Int.random(in: 0..<ModelNames.urls, using: &random)
        let isOwn = flip() && url < ModelNames.files
        let file = isOwn ? url : Int.random(in: 0..<ModelNames.files, using: &random)
        var request = ModelRequest(label: labels, url: url, file: file)
        if random.happens(0.3) { request.session = "s" }
        if random.happens(0.4), !request.isUpload {
            request.policy = ModelPolicy.allCases.randomElement(using: &random) ?? .fail
        }
        if random.happens(0.2) { request.priority = Int.random(in: 0...2, using: &random) }
        if random.happens(0.15) { request.earliest = Int.random(in: 1...1200, using: &random) }
        if random.happens(0.15) { request.deadline = Int.random(in: 2...1800, using: &random) }
        if random.happens(0.2), labels > 0 {
            request.after = [label()]
            request.afterAny = random.happens(0.4)
        }
        request.power = random.happens(0.15)
        request.unmetered = random.happens(0.15)
        labels += 1
        return request
    }

    private mutating func want() -> ModelCommand {
        let verbs: [ModelVerb] = [
            .pause, .pause, .resume, .resume, .now, .cancel, .cancel, .retry, .retry,
        ]
        let verb = verbs.randomElement(using: &random) ?? .pause
        var selection = ModelSelection.one(label())
        if random.happens(0.15) {
            selection =
                flip() ? .all : .session(ModelNames.sessions.randomElement(using: &random) ?? "s")
        }
        return .want(verb, selection, keepBytes: verb == .cancel && flip())
    }

    private mutating func change() -> ModelChange {
        switch Int.random(in: 0..<5, using: &random) {
        case 0: .priority(Int.random(in: 0...2, using: &random))
        case 1: .earliest(flip() ? nil : Int.random(in: 1...1200, using: &random))
        case 2: .needs(power: flip(), unmetered: flip())
        case 3: .url(Int.random(in: 0..<ModelNames.urls, using: &random))
        default: .deadline(Int.random(in: 2...1800, using: &random))
        }
    }

    private mutating func condition() -> ModelCommand {
        if flip() {
            return .conditions(
                ModelNetwork.allCases.randomElement(using: &random) ?? .offline, power: flip())
        }
        let url = Int.random(in: 0..<ModelNames.urls, using: &random)
        return .answer(url: url, ModelAnswer.allCases.randomElement(using: &random) ?? .file)
    }

    private mutating func file() -> ModelCommand {
        let file = Int.random(in: 0..<ModelNames.files, using: &random)
        return flip() ? .touch(file: file) : .unlink(file: file)
    }

    private mutating func crash() -> ModelCommand {
        let effects = Int.random(in: 0...12, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0, 1: return .kill(after: effects)
        case 2, 3: return .powerCut(after: effects)
        default: return .leave
        }
    }
}
