import Foundation
import LonghaulCore

/// How much of which trouble one life has. Most lives know a few kinds only: faults that always
/// come together hide each other.
struct SimTrouble {
    // The network, per answer or per second.
    var refused = 0.0
    var busy = 0.0
    var cut = 0.0
    var stall = 0.0
    var lie = 0.0
    var flap = 0.0
    // The servers, per step.
    var change = 0.0
    var gone = 0.0
    var move = 0.0
    // The disk, per operation, and phases per step.
    var sync = 0.0
    var write = 0.0
    var rename = 0.0
    var directory = 0.0
    var open = 0.0
    var full = 0.0
    var readOnly = 0.0
    var foreign = 0.0
    var store = 0.0
    // The machine, per step.
    var crash = 0.0
    var leave = 0.0
    var clock = 0.0
    var conditions = 0.0
    var hint = 0.0
    // People, per step.
    var wants = 0.0
    var changes = 0.0
    var enqueues = 0.0
    var removals = 0.0

    static let none = SimTrouble()

    init() {}

    init(_ random: inout SeededGenerator) {
        func some(_ most: Double) -> Double {
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1: 0
            case 2: most / 4
            case 3: most / 2
            default: most
            }
        }
        refused = some(0.15)
        busy = some(0.15)
        cut = some(0.4)
        stall = some(0.15)
        lie = some(0.2)
        flap = some(0.03)
        change = some(0.04)
        gone = some(0.03)
        move = some(0.04)
        sync = some(0.15)
        write = some(0.03)
        rename = some(0.3)
        directory = some(0.3)
        open = some(0.1)
        full = some(0.03)
        readOnly = some(0.02)
        foreign = some(0.03)
        store = some(0.03)
        crash = some(0.12)
        leave = some(0.03)
        clock = some(0.04)
        conditions = some(0.08)
        hint = some(0.5)
        wants = some(0.12)
        changes = some(0.08)
        enqueues = some(0.04)
        removals = some(0.03)
        for (kind, chance) in Self.asked { self[keyPath: kind] = chance }
    }

    // MARK: - Other mixtures

    private typealias Kind = any WritableKeyPath<SimTrouble, Double> & Sendable

    /// As it was asked for.
    static var mixture: String? { ProcessInfo.processInfo.environment["LONGHAUL_SIM_TROUBLE"] }

    /// Chances that stand instead of the drawn ones (`scripts/sim --trouble stall=0.35,cut=0.1`).
    private static let asked: [(Kind, Double)] =
        (mixture ?? "").split(separator: ",").map {
            let parts = $0.split(separator: "=")
            guard parts.count == 2, let kind = kinds[String(parts[0])],
                let chance = Double(parts[1]), (0...1).contains(chance)
            else { preconditionFailure("no such trouble: \($0)") }
            return (kind, chance)
        }

    private static let kinds: [String: Kind] = [
        "refused": \.refused, "busy": \.busy, "cut": \.cut, "stall": \.stall, "lie": \.lie,
        "flap": \.flap, "change": \.change, "gone": \.gone, "move": \.move, "sync": \.sync,
        "write": \.write, "rename": \.rename, "directory": \.directory, "open": \.open,
        "full": \.full, "readOnly": \.readOnly, "foreign": \.foreign, "store": \.store,
        "crash": \.crash, "leave": \.leave, "clock": \.clock, "conditions": \.conditions,
        "hint": \.hint, "wants": \.wants, "changes": \.changes, "enqueues": \.enqueues,
        "removals": \.removals,
    ]
}

extension SeededGenerator {
    mutating func happens(_ chance: Double) -> Bool {
        chance > 0 && Double.random(in: 0..<1, using: &self) < chance
    }
}
