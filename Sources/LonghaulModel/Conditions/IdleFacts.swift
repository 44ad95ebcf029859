/// Facts that tell whether a machine is in use, where no service keeps track of its users.
package struct IdleFacts: Hashable, Sendable {
    /// Load of the last minute, divided by the processors; `nil` = unknown.
    package var load: Double?
    /// Part of the last ten seconds in which something waited for a processor, in percent (PSI).
    package var pressure: Double?
    /// Seconds since the last key at any terminal; `nil` = there is no terminal.
    package var secondsSinceInput: Double?

    package init() {}

    /// - Parameter wasIdle: what it came to the last time. An idle machine is given work by us, and
    ///   must not count as busy for that: it stays idle up to higher marks than it becomes idle at.
    package func isIdle(wasIdle: Bool) -> Bool? {
        if let secondsSinceInput, secondsSinceInput < Limits.userAwaySeconds { return false }
        if load == nil, pressure == nil { return nil }
        let marks = wasIdle ? Self.busy : Self.calm
        return (load ?? 0) < marks.load && (pressure ?? 0) < marks.pressure
    }

    /// How long it lasts at least until the machine can be idle, which it is not now: should no
    /// user type any more, and everything that runs end at once. `nil` = nothing is known to wait
    /// for.
    package var secondsUntilIdle: Double? {
        let waits = [
            secondsSinceInput.map { Limits.userAwaySeconds - $0 },
            load.map { Self.seconds(until: Self.calm.load, from: $0, Self.loadDecay) },
            pressure.map { Self.seconds(until: Self.calm.pressure, from: $0, Self.pressureDecay) },
        ]
        return waits.compactMap { $0 }.filter { $0 > 0 }.max()
    }

    private static func seconds(
        until mark: Double, from value: Double, _ decay: (seconds: Double, factor: Double)
    ) -> Double {
        var seconds = 0.0
        var value = value
        while value >= mark, value.isFinite {
            value *= decay.factor
            seconds += decay.seconds
        }
        return seconds
    }

    /// The kernel reckons the load of a minute anew every 5 s and the pressure of ten seconds every
    /// 2 s: e^(-5/60) and e^(-2/10) of what they were, where nothing more has come.
    private static let loadDecay = (seconds: 5.0, factor: 0.920_044_414_629)
    private static let pressureDecay = (seconds: 2.0, factor: 0.818_730_753_078)

    private static let calm = (load: 0.5, pressure: 10.0)
    private static let busy = (load: 1.5, pressure: 25.0)

    /// Reads `/proc/loadavg`: the first number.
    package static func load(_ text: some StringProtocol, processors: Int) -> Double? {
        text.split(separator: " ").first.flatMap { Double($0) }.map { $0 / Double(processors) }
    }

    /// Reads `/proc/pressure/cpu`: `some avg10=0.00 avg60=…`.
    package static func pressure(_ text: some StringProtocol) -> Double? {
        for line in text.split(separator: "\n") where line.hasPrefix("some ") {
            for field in line.split(separator: " ") where field.hasPrefix("avg10=") {
                return Double(field.dropFirst("avg10=".count))
            }
        }
        return nil
    }
}
