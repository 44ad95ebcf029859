/// What tells whether a machine is in use, where nobody keeps track of its users.
package struct IdleFacts: Hashable, Sendable {
    /// Of the last minute, divided by the processors; `nil` = unknown.
    package var load: Double?
    /// Part of the last ten seconds in which something waited for a processor, in percent (PSI).
    package var pressure: Double?
    /// Since somebody typed at any terminal; `nil` = there is no terminal.
    package var secondsSinceInput: Double?

    package init() {}

    /// A user who has not typed for so long is away; desktops take the same five minutes.
    package static let awaySeconds: Double = 300

    /// - Parameter wasIdle: what it came to the last time. An idle machine is given work by us, and
    ///   must not count as busy for that: it stays idle up to higher marks than it becomes idle at.
    package func isIdle(wasIdle: Bool) -> Bool? {
        if let secondsSinceInput, secondsSinceInput < Self.awaySeconds { return false }
        if load == nil, pressure == nil { return nil }
        let marks = wasIdle ? Self.busy : Self.calm
        return (load ?? 0) < marks.load && (pressure ?? 0) < marks.pressure
    }

    private static let calm = (load: 0.5, pressure: 10.0)
    private static let busy = (load: 1.5, pressure: 25.0)

    /// From `/proc/loadavg`: the first number.
    package static func load(_ text: some StringProtocol, processors: Int) -> Double? {
        text.split(separator: " ").first.flatMap { Double($0) }.map { $0 / Double(processors) }
    }

    /// From `/proc/pressure/cpu`: `some avg10=0.00 avg60=…`.
    package static func pressure(_ text: some StringProtocol) -> Double? {
        for line in text.split(separator: "\n") where line.hasPrefix("some ") {
            for field in line.split(separator: " ") where field.hasPrefix("avg10=") {
                return Double(field.dropFirst("avg10=".count))
            }
        }
        return nil
    }
}
