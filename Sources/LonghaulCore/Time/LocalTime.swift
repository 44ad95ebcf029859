/// The rules of a time zone, handed in: this module asks nothing of the machine.
package struct LocalTime: Sendable {
    /// How far local time is ahead of UTC at a moment.
    package var secondsFromUTC: @Sendable (Timestamp) -> Int

    package init(secondsFromUTC: @escaping @Sendable (Timestamp) -> Int) {
        self.secondsFromUTC = secondsFromUTC
    }

    package static let utc = LocalTime { _ in 0 }

    /// What the clock on the wall shows, as if it were UTC.
    package func wall(_ time: Timestamp) -> Timestamp {
        time + Double(secondsFromUTC(time))
    }

    /// The local date, in days since 1970-01-01.
    package func day(of time: Timestamp) -> Int64 {
        wall(time).milliseconds.flooredDivision(by: 86_400_000).quotient
    }

    /// `HH:MM`
    package func clock(_ time: Timestamp) -> String {
        let minutes = wall(time).milliseconds.flooredDivision(by: 86_400_000).remainder / 60_000
        return TimeWindow.text(Int(minutes))
    }

    /// The first moment of a day at which the clock shows this time or a later one.
    package func first(day: Int64, minute: Int) -> Timestamp {
        let shown = Timestamp(milliseconds: day * 86_400_000 + Int64(minute) * 60_000)
        // Offsets a day before and a day after enclose any change in between.
        let before = secondsFromUTC(shown + -86_400)
        let after = secondsFromUTC(shown + 86_400)
        if before == after { return shown + -Double(before) }
        let guesses = [max(before, after), min(before, after)].map { shown + -Double($0) }
        if let exact = guesses.first(where: { wall($0) == shown }) { return exact }
        return firstAfterGap(guesses[0], guesses[1], shown)
    }

    /// The moment of a change forward, between two moments that enclose it.
    private func firstAfterGap(
        _ low: Timestamp, _ high: Timestamp, _ shown: Timestamp
    ) -> Timestamp {
        let change = (low.milliseconds..<high.milliseconds).firstPast {
            wall(Timestamp(milliseconds: $0)) < shown
        }
        return Timestamp(milliseconds: change)
    }
}
