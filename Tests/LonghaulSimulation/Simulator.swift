import Foundation
import LonghaulCore
import Synchronization

/// `scripts/sim`: lives the simulation's seeds as fast as the machine can.
@main struct Simulator {
    private var kinds: [SimLife] = []
    private var seeds: [UInt64] = []
    private var first: UInt64 = 1
    private var amount: Simulation.Amount?
    private var jobs = ProcessInfo.processInfo.activeProcessorCount

    static func main() {
        do {
            var simulator = Simulator()
            try simulator.read(CommandLine.arguments.dropFirst())
            exit(simulator.run() ? 0 : 1)
        } catch {
            FileHandle.standardError.write(Data("\(Usage.text)\n".utf8))
            exit(64)
        }
    }

    // MARK: - Arguments

    private struct Usage: Error {
        static let text = """
            usage: scripts/sim [KIND…] SEED…
                   scripts/sim [KIND…] (--seeds N | --crash-points N) [--first SEED] [--jobs N]

            KIND: \(SimLife.allCases.map { "--" + $0.rawValue }.joined(separator: ", ")), or --all; \
            lives without one are ordinary
            --trouble KIND=CHANCE,… sets how often something goes wrong (SimTrouble); with \
            --crash-points N crashes come at crash=0.3, where it says nothing of them
            """
    }

    private mutating func read(_ arguments: ArraySlice<String>) throws {
        var rest = arguments
        func number<Number: FixedWidthInteger>() throws -> Number {
            guard let text = rest.popFirst(), let value = Number(text), value >= 0 else {
                throw Usage()
            }
            return value
        }
        while let argument = rest.popFirst() {
            switch argument {
            case "--all": kinds = SimLife.allCases
            case "--seeds":
                amount = amount ?? Simulation.Amount()
                amount?.lives = try number()
            case "--crash-points":
                amount = amount ?? Simulation.Amount()
                amount?.crashPoints = try number()
            case "--first": first = try number()
            case "--jobs": jobs = max(1, try number())
            case "--trouble":
                guard let trouble = rest.popFirst() else { throw Usage() }
                setenv("LONGHAUL_SIM_TROUBLE", trouble, 1)
            default:
                if let kind = SimLife.allCases.first(where: { "--\($0.rawValue)" == argument }) {
                    kinds.append(kind)
                } else {
                    guard let seed = UInt64(argument) else { throw Usage() }
                    seeds.append(seed)
                }
            }
        }
        if kinds.isEmpty { kinds = [.ordinary] }
        // What is asked for is crashes: as many to a life as leave it time to get on.
        let mixture = SimTrouble.mixture ?? ""
        if let amount, amount.crashPoints < .max, !mixture.contains("crash=") {
            setenv(
                "LONGHAUL_SIM_TROUBLE", (mixture.isEmpty ? "" : mixture + ",") + "crash=0.3", 1)
        }
        guard amount != nil || !seeds.isEmpty else { throw Usage() }
    }

    // MARK: - Lives

    /// Whether every promise was kept.
    private func run() -> Bool {
        var isSound = true
        for seed in seeds {
            var one = Simulation.Amount()
            one.lives = kinds.count
            isSound = tell(Simulation(kinds, first: seed, one), lines: .max) && isSound
        }
        if var amount {
            // A number of seeds: each kind lives them.
            if amount.lives < .max { amount.lives *= kinds.count }
            isSound = tell(Simulation(kinds, first: first, amount), lines: 160) && isSound
        }
        return isSound
    }

    private func tell(_ simulation: Simulation, lines: Int) -> Bool {
        let told = Mutex(ContinuousClock.now)
        let total = simulation.run(jobs: jobs) { simulation in
            let isDue = told.withLock { last in
                if last.duration(to: .now) < .seconds(60) { return false }
                last = .now
                return true
            }
            if isDue { FileHandle.standardError.write(Data("\(simulation.summary)\n".utf8)) }
        }
        for violation in total.violations {
            print("the last of seed \(violation.seed):")
            for line in violation.trace.suffix(lines) { print(line) }
            print(violation.text)
        }
        if let failure = total.failure { print(failure) }
        print(total.tally.description)
        if kinds.contains(.hosts) || kinds.contains(.tasks) {
            print("hosts: \(total.hosts.description)")
        }
        if kinds.contains(.tasks) {
            let month = (try? TaskMonth.report()) ?? ["the month of tasks has no store"]
            for line in month { print("a month of tasks: \(line)") }
        }
        print(simulation.summary)
        return total.violations.isEmpty && total.failure == nil
    }
}
