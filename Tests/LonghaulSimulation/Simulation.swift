import Foundation
import LonghaulCore
import Synchronization

/// Lives after lives, on as many threads as are given, until there have been enough.
final class Simulation: Sendable {
    struct Amount: Sendable {
        var lives = Int.max
        var crashPoints = Int.max
        var violations = 5
    }

    struct Total: Sendable {
        var tally = SimTally()
        var hosts = SimHostTally()
        var violations: [SimViolation] = []
        /// What is no broken promise: the machine's disk is full, say.
        var failure: String?
        fileprivate var begun = 0
    }

    private let kinds: [SimLife]
    private let first: UInt64
    private let amount: Amount
    private let total = Mutex(Total())
    private let started = ContinuousClock.now

    /// Seeds from the first one on, each lived in all of the kinds.
    init(_ kinds: [SimLife], first: UInt64, _ amount: Amount) {
        self.kinds = kinds
        self.first = first
        self.amount = amount
    }

    /// - Parameter report: called now and then, on any of the threads.
    func run(jobs: Int, report: @escaping @Sendable (Simulation) -> Void) -> Total {
        DispatchQueue.concurrentPerform(iterations: jobs) { _ in
            while let (life, seed) = next() {
                do {
                    let outcome = try life.live(seed)
                    if let violation = outcome.violation {
                        FileHandle.standardError.write(Data("\(violation.text)\n".utf8))
                    }
                    add(outcome)
                } catch {
                    total.withLock { $0.failure = $0.failure ?? "seed \(seed): \(error)" }
                }
                report(self)
            }
        }
        return total.withLock { $0 }
    }

    private func next() -> (SimLife, UInt64)? {
        total.withLock { total in
            guard total.begun < amount.lives, total.tally.crashPoints < amount.crashPoints,
                total.violations.count < amount.violations, total.failure == nil
            else { return nil }
            defer { total.begun += 1 }
            let kind = kinds[total.begun % kinds.count]
            return (kind, first + UInt64(total.begun / kinds.count))
        }
    }

    private func add(_ outcome: SimOutcome) {
        total.withLock { total in
            total.tally += outcome.tally
            total.hosts += outcome.hosts
            if let violation = outcome.violation { total.violations.append(violation) }
        }
    }

    /// What there has been until now.
    var summary: String {
        let (tally, violations) = total.withLock { ($0.tally, $0.violations.count) }
        let time = (ContinuousClock.now - started).components
        let seconds = Double(time.seconds) + Double(time.attoseconds) / 1e18
        let rate = Double(tally.crashPoints) / max(seconds, 0.001)
        return "\(tally.lives) lives, \(tally.crashPoints) crash points, \(violations) violations,"
            + " \(Int(rate.rounded()))/s"
    }
}
