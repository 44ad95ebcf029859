import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// A simulated process that a launch has started: what it was handed, and what it is going to do.
struct SimProcess {
    enum Answer: Hashable { case goOn, use, cancel }

    enum Deed: Hashable {
        case acknowledge([Int64])
        case enqueue
        case answer(TransferID, Answer)
        case tell(String, TaskResult)
        case report(String)
        case attach(seconds: Double)
        case exit(Int)
        case die(signal: Int)
    }

    /// What SIGTERM does to it.
    enum Manners: Hashable { case ignores, dies, exits(Int) }

    let identity: LaunchedProcess
    let order: LaunchOrder
    let needs: [TransferID]
    let events: [StoredEvent]
    let tasks: [StoredTask]
    /// The engine that made it: only that one learns how it ends.
    let parent: Int
    /// The process ran before, and outlives the launch.
    var isResident = false
    /// The process was asked to end the launch.
    var isRequested = false
    /// The engine has said that it may run.
    var letGoAt: Instant?
    /// It waits for a byte until then.
    var begunAt: Instant?
    var manners = Manners.dies
    var deeds: [(at: Instant, what: Deed)] = []
    /// Written and not read by any engine yet.
    var lines: [(TransferID, Answer)] = []
    var results: [(String, TaskResult)] = []
    var reports: [(String, ProgressReport)] = []

    var host: String { order.host }
}

/// How much of what the hosts of one life do.
struct SimHostTrouble {
    var fails = 0.0
    var hangs = 0.0
    var dies = 0.0
    var acknowledges = 0.0
    var goesOn = 0.0
    var attaches = 0.0
    var silence = 0.0
    /// What people do about hosts and sessions, per step.
    var people = 0.0
    /// The process cannot be made.
    var spawn = 0.0
    /// Nobody is the engine for a while.
    var absence = 0.0
    /// The store takes no answer, each time.
    var unwritten = 0.0
    /// A task's result is told in a line, not by the exit status.
    var tells = 0.5

    static var none: SimHostTrouble {
        var none = SimHostTrouble()
        none.tells = 0
        return none
    }

    init() {}

    init(_ random: inout SeededGenerator) {
        func some(_ most: Double) -> Double {
            most * [0, 0.25, 0.5, 1].randomElement(using: &random)!
        }
        fails = some(0.5)
        hangs = some(0.3)
        dies = some(0.2)
        acknowledges = some(0.5)
        goesOn = some(0.2)
        attaches = some(0.15)
        silence = some(0.5)
        people = some(0.12)
        spawn = some(0.1)
        absence = some(0.8)
        unwritten = some(0.8)
    }
}

extension SimProcess {
    /// Draws what it does with what it was handed.
    mutating func plan(
        _ trouble: SimHostTrouble, isPoisoned: Bool, from now: Instant,
        _ random: inout SeededGenerator
    ) {
        if isContinued { return planContinued(trouble, from: now, &random) }
        let budget = order.budget
        manners = [.dies, .dies, .ignores, .exits(0), .exits(1)].randomElement(using: &random)!
        var at = now + Double.random(in: 0...0.3, using: &random)
        let pace = [0, 0.1, budget / 8].randomElement(using: &random)!
        for id in needs where !random.happens(trouble.silence) {
            let answer: Answer =
                trouble.silence == 0
                ? .goOn : [.goOn, .use, .use, .cancel].randomElement(using: &random)!
            deeds.append((at, .answer(id, answer)))
            at = at + pace
        }
        let seqs = events.map(\.seq)
        if random.happens(trouble.acknowledges) {
            // The first ones, or here and there.
            let isThrough = Bool.random(using: &random)
            let some = seqs.filter { _ in Bool.random(using: &random) }
            let count = Int.random(in: 0...seqs.count, using: &random)
            deeds.append((at, .acknowledge(isThrough ? Array(seqs.prefix(count)) : some)))
            at = at + pace
        }
        if random.happens(trouble.goesOn) {
            deeds.append((at, .enqueue))
            at = at + pace
        }
        if random.happens(trouble.attaches) {
            let seconds = Double.random(in: 1...200, using: &random)
            deeds.append((at, .attach(seconds: seconds)))
        }
        for task in tasks where task.kind != .wakeUp && random.happens(trouble.tells) {
            let results: [TaskResult] = [.success, .success, .noData, .failure, .deferred]
            deeds.append(
                (at, .tell(task.request.identifier, results.randomElement(using: &random)!)))
            at = at + pace
        }
        // Longer than it may.
        if random.happens(trouble.hangs) {
            at = at + budget + Double.random(in: 0...90, using: &random)
        }
        if isPoisoned || random.happens(trouble.fails) {
            deeds.append((at, .exit(Int.random(in: 1...127, using: &random))))
        } else if random.happens(trouble.dies) {
            deeds.append((at, .die(signal: [6, 9, 11, 15].randomElement(using: &random)!)))
        } else {
            deeds.append((at, .exit(0)))
        }
    }

    /// SIGTERM has arrived.
    mutating func term(at now: Instant, _ random: inout SeededGenerator) {
        // Some take longer to tidy up than they have.
        let at = now + Double.random(in: 0...8, using: &random)
        switch manners {
        case .ignores: break
        case .dies: deeds = [(now, .die(signal: 15))]
        case .exits(let status): deeds = [(at, .exit(status))]
        }
    }
}
