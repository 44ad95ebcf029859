/// Expected course of a transfer, as far as known.
public struct Forecast: Hashable, Sendable {
    /// When it starts, or may start at the latest; `nil` = it depends on conditions
    /// or other transfers.
    public var startsAt: Timestamp?
    /// When it ends, if it starts then and its origin is as fast as before.
    public var endsAt: Timestamp?
    /// The same in a sentence.
    public var text: String

    /// Creates a forecast; by default no moments are known.
    public init(startsAt: Timestamp? = nil, endsAt: Timestamp? = nil, text: String) {
        self.startsAt = startsAt
        self.endsAt = endsAt
        self.text = text
    }
}

extension Forecast {
    /// - Parameters:
    ///   - transfer: With its live numbers and all its wait reasons.
    ///   - rate: The origin's measured rate, bytes per second.
    ///   - time: The rules of local time for its windows.
    ///   - shown: Writes a moment as text.
    package init(
        _ transfer: Transfer, rate: Double?, now: Timestamp, time: LocalTime,
        shown: (Timestamp) -> String
    ) {
        switch transfer.state {
        case .completed: self.init(text: "it stays so")
        case .failed, .cancelled:
            self.init(text: "it stays so; `longhaul retry \(transfer.id)` takes it up again")
        case .paused:
            self.init(text: "it waits for `longhaul resume \(transfer.id)`")
        case .running where transfer.waitingFor.contains { $0.reason == .engine }:
            self.init(startsAt: transfer.startedAt, text: "it goes on when its engine does")
        case .running:
            let seconds = Forecast.seconds(transfer, rate: transfer.bytesPerSecond ?? rate)
            let ends = seconds.flatMap { Opening(transfer, time).end(from: now, seconds: $0) }
            self.init(
                startsAt: transfer.startedAt, endsAt: ends,
                text: ends.map { "it is running, until about \(shown($0))" } ?? "it is running")
        case .waiting:
            self = Forecast.waiting(
                transfer, Opening(transfer, time), rate: rate, now: now, shown: shown)
        }
    }

    private static func seconds(_ transfer: Transfer, rate: Double?) -> Double? {
        guard let rate, rate > 0, let total = transfer.bytesTotal ?? transfer.expectedBytes
        else { return nil }
        return Double(max(0, total - transfer.bytesDone)) / rate
    }

    private static func waiting(
        _ transfer: Transfer, _ opening: Opening, rate: Double?, now: Timestamp,
        shown: (Timestamp) -> String
    ) -> Forecast {
        let holds = Holds(transfer.waitingFor)
        let clock = opening.first(from: max(now, holds.clock ?? now))
        var sentence: String
        var starts: Timestamp?
        if let deadline = transfer.deadline, clock >= deadline {
            return Forecast(
                endsAt: deadline,
                text: "it cannot start before its deadline and fails at \(shown(deadline))")
        }
        let preferences = list(holds.preferred)
        if holds.required.isEmpty, holds.preferred.isEmpty {
            starts = clock
            sentence =
                holds.clock == nil && clock == now ? "it starts" : "it may start at \(shown(clock))"
            if holds.isItsTurn {
                starts = nil
                sentence = "it starts when it is its turn"
            }
        } else if holds.required.isEmpty {
            let last = [transfer.waivesBy, transfer.waiverCheck].compactMap { $0 }.max()
            // A start after the deadline never comes.
            starts = last.map { opening.first(from: max($0, clock)) }.flatMap { latest in
                latest < transfer.deadline ?? .distantFuture ? latest : nil
            }
            sentence = "it starts when there is \(preferences)"
            if let starts { sentence += ", or without at the latest at \(shown(starts))" }
        } else {
            sentence = "it starts when there is \(list(holds.required + holds.preferred))"
            if clock > now { sentence += ", not before \(shown(clock))" }
        }
        if holds.needsEngine {
            starts = nil
            sentence += holds.isAlone ? " when an engine runs" : ", if an engine runs then"
            sentence += " (`longhaul run` or `longhaul daemon`)"
        }
        let ends = starts.flatMap { start in
            seconds(transfer, rate: rate).flatMap { opening.end(from: start, seconds: $0) }
        }
        if let deadline = transfer.deadline { sentence += "; it gives up at \(shown(deadline))" }
        return Forecast(startsAt: starts, endsAt: ends, text: sentence)
    }

    private static func list(_ words: [String]) -> String {
        guard let last = words.last else { return "" }
        if words.count == 1 { return last }
        return words.dropLast().joined(separator: ", ") + " and " + last
    }
}

/// The windows of a transfer, which neither starts nor continues outside of them.
private struct Opening {
    private let windows: TimeWindows?
    private let time: LocalTime

    init(_ transfer: Transfer, _ time: LocalTime) {
        windows = transfer.schedule.windows
        self.time = time
    }

    /// The first moment from here on that is inside.
    func first(from moment: Timestamp) -> Timestamp {
        guard let phase = windows?.phase(at: moment, time), !phase.isOpen else { return moment }
        return phase.until
    }

    /// The end of this much work; `nil` = the windows close before that. A transfer that runs while
    /// they are closed runs along with another one, whose windows hold.
    func end(from start: Timestamp, seconds: Double) -> Timestamp? {
        assert(seconds >= 0, "work takes time")
        let end = start + seconds
        guard let phase = windows?.phase(at: start, time), phase.isOpen else { return end }
        return end <= phase.until ? end : nil
    }
}

/// Reasons of the waits, sorted.
private struct Holds {
    /// When the last wait is over that only needs time.
    var clock: Timestamp?
    var required: [String] = []
    var preferred: [String] = []
    var isItsTurn = false
    var needsEngine = false

    init(_ waits: [WaitReason]) {
        for wait in waits {
            if let word = Holds.word(wait) {
                if wait.isPreference { preferred.append(word) } else { required.append(word) }
                continue
            }
            if wait.reason == .engine {
                needsEngine = true
            } else if wait.reason.group == .turn {
                isItsTurn = true
            }
            if let next = wait.nextCheck { clock = max(clock ?? next, next) }
        }
    }

    var isAlone: Bool { required.isEmpty && preferred.isEmpty && clock == nil && !isItsTurn }

    /// `nil` for what time or the engine alone settles.
    private static func word(_ wait: WaitReason) -> String? {
        switch wait.reason {
        case .network where wait.nextCheck != nil: nil
        case .network where wait.networks != nil: "the network " + (wait.networks ?? "")
        case .network where wait.required != WaitReason.unmeteredNetwork: "a network"
        case .network: WaitReason.Reason.unmetered.condition
        case .input: "an answer from its host"
        case .originCooldown where wait.required == WaitReason.otherCredentials:
            "a word about its credentials"
        case .host: "a free host"
        case .trigger: "a change of the machine"
        case .transfers: "the end of other transfers"
        default: wait.reason.condition
        }
    }
}

extension WaitReason.Reason {
    /// The kind of change that ends a wait.
    package enum Group: Hashable, Sendable {
        /// The clock alone ends it.
        case time
        /// A condition of the machine; the value is the one that ends it, in words.
        case condition(String)
        /// A pause after a failure ends.
        case pause
        /// Other transfers give way, or an engine starts.
        case turn
        /// Something else happens.
        case event
    }

    package var group: Group {
        switch self {
        case .earliestBegin, .window: .time
        case .power: .condition("external power")
        case .battery: .condition("a fuller battery")
        case .network: .condition("the network")
        case .unmetered: .condition("an unmetered network")
        case .idle: .condition("an idle machine")
        case .saver: .condition("no power saving")
        case .mounted: .condition("a mounted file system")
        case .backoff, .originCooldown, .storage, .budget: .pause
        case .concurrency, .originLimit, .slot, .engine: .turn
        case .input, .host, .trigger, .transfers: .event
        }
    }

    /// The condition that ends the wait, in words; `nil`: something else ends it.
    package var condition: String? {
        if case .condition(let words) = group { words } else { nil }
    }
}

extension WaitReason {
    /// Nothing holds it: the engine starts it in one of its next turns.
    package static func ready(since: Timestamp?) -> WaitReason {
        WaitReason(.engine, current: readyToStart, since: since)
    }

    private static let readyToStart = "ready, about to start"

    /// No process is the engine.
    ///
    /// - Parameter need: What the transfer asks of the next one.
    package static func noEngine(_ need: String = "") -> WaitReason {
        WaitReason(.engine, required: "running", current: "none runs" + need)
    }

    /// The process that is the engine is stopped, so that nothing moves.
    package static func stoppedEngine(_ process: Int32) -> WaitReason {
        WaitReason(
            .engine, required: goingOn,
            current: "stopped; kill -CONT \(process) lets it go on")
    }

    private static let goingOn = "going on"

    /// What of an engine it waits for.
    package var engineWait: EngineWait {
        if required == nil, current == WaitReason.readyToStart { return .start }
        return required == WaitReason.goingOn ? .continuation : .engine
    }

    package enum EngineWait {
        case start, continuation, engine
    }

    /// The reason is a condition that is preferred, not required.
    package var isPreference: Bool { required?.hasSuffix(WaitReason.preferredMark) ?? false }

    package static let preferredMark = " (preferred)"

    /// Requirement of a transfer on the network, besides that there is one.
    package static let unmeteredNetwork = "unmetered"
    package static let presentNetwork = "present"
    package static let settledNetwork = "a settled one"
    /// The present network, where it has no name.
    package static let unnamedNetwork = "a network without a name"

    /// The networks that it names, as they were typed; `nil` = it names none.
    package var networks: String? {
        guard reason == .network, var names = required else { return nil }
        if isPreference { names.removeLast(WaitReason.preferredMark.count) }
        let others = [
            WaitReason.presentNetwork, WaitReason.settledNetwork, WaitReason.unmeteredNetwork,
        ]
        return others.contains(names) ? nil : names
    }
}
