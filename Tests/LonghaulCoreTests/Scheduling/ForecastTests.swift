import LonghaulCore
import Testing

@Suite struct ForecastTests {
    private static let now = Timestamp(milliseconds: 1_000_000_000)

    /// Preferences are waived after a while, but nothing starts when its deadline is over.
    @Test(arguments: [(3_600.0, true), (90_000.0, false)])
    func aPreferenceIsNotWaivedAfterTheDeadline(after seconds: Double, starts: Bool) {
        var transfer = Transfer(
            id: TransferID(rawValue: 1), state: .waiting, url: "https://h/f",
            file: .destination("/f"), session: "default", priority: .normal,
            isDiscretionary: true, createdAt: Self.now)
        transfer.deadline = Self.now + 86_400
        transfer.waivesBy = Self.now + seconds
        var wait = WaitReason(.power)
        wait.required = "external (preferred)"
        transfer.waitingFor = [wait]
        let forecast = Forecast(transfer, rate: nil, now: Self.now, time: .utc) {
            "\($0.milliseconds)"
        }
        #expect(forecast.startsAt == (starts ? Self.now + seconds : nil))
        #expect(forecast.text.contains("at the latest") == starts)
        #expect(forecast.text.contains("it gives up at"))
    }

    private struct Row: Sendable, CustomTestStringConvertible {
        var what: String
        var window: String
        /// Seconds after midnight; of the clock, and when preferences are waived.
        var now: Double
        var waived: Double?
        var waits: [WaitReason] = []
        var deadline: Double?
        var rate: Double?
        var starts: Double?
        var ends: Double?

        var testDescription: String { what }
    }

    private static let midnight = Timestamp(milliseconds: 86_400_000 * 20_000)
    private static let hour = 3600.0

    private static func prefers(_ reason: WaitReason.Reason) -> WaitReason {
        WaitReason(reason, required: "idle (preferred)")
    }

    private static let rows: [Row] = [
        Row(
            what: "waived while the window is closed", window: "01:00-01:05", now: 2 * hour,
            waived: 2.8 * hour, waits: [prefers(.idle)], starts: 25 * hour),
        Row(
            what: "waived while it is open", window: "01:00-06:00", now: 2 * hour,
            waived: 2.8 * hour, waits: [prefers(.idle)], starts: 2.8 * hour),
        Row(
            what: "waived at the moment at which it closes", window: "01:00-06:00", now: 2 * hour,
            waived: 6 * hour, waits: [prefers(.idle)], starts: 25 * hour),
        Row(
            what: "the next opening is after the deadline", window: "01:00-01:05", now: 2 * hour,
            waived: 2.8 * hour, waits: [prefers(.idle)], deadline: 20 * hour, starts: nil,
            ends: 20 * hour),
        Row(
            what: "a back-off that ends when it is closed", window: "22:00-06:00", now: 5 * hour,
            waits: [
                WaitReason(.backoff, nextCheck: midnight + 7 * hour)
            ], starts: 22 * hour),
        Row(
            what: "over midnight", window: "22:00-06:00", now: 23 * hour,
            waits: [
                WaitReason(.backoff, nextCheck: midnight + 24.5 * hour)
            ], starts: 24.5 * hour),
        Row(
            what: "it ends before the window does", window: "22:00-06:00", now: 23 * hour,
            rate: 1, starts: 23 * hour, ends: 24 * hour),
        Row(
            what: "the window closes before the end", window: "22:00-23:30", now: 23 * hour,
            rate: 1, starts: 23 * hour, ends: nil),
    ]

    /// Nothing is promised for a moment outside of the window.
    @Test(arguments: rows) private func aWindowHolds(_ row: Row) {
        let now = Self.midnight + row.now
        var transfer = Transfer(
            id: TransferID(rawValue: 1), state: .waiting, url: "https://h/f",
            file: .destination("/f"), session: "default", priority: .normal,
            isDiscretionary: true, createdAt: now)
        transfer.schedule.windows = TimeWindows(parsing: row.window)
        #expect(transfer.schedule.windows != nil)
        transfer.deadline = Self.midnight + (row.deadline ?? 168 * Self.hour)
        transfer.waivesBy = row.waived.map { Self.midnight + $0 }
        transfer.waitingFor = row.waits
        transfer.bytesTotal = row.rate.map { Int64($0 * Self.hour) }
        let forecast = Forecast(transfer, rate: row.rate, now: now, time: .utc) {
            "\($0 - Self.midnight)"
        }
        #expect(forecast.startsAt == row.starts.map { Self.midnight + $0 })
        #expect(forecast.endsAt == row.ends.map { Self.midnight + $0 })
        #expect(forecast.text.contains("at the latest") == (row.waived != nil && row.starts != nil))
    }

    /// What must hold besides decides: no moment is promised.
    @Test func aRequirementIsNoMatterOfTime() {
        let now = Self.midnight + 2 * Self.hour
        var transfer = Transfer(
            id: TransferID(rawValue: 1), state: .waiting, url: "https://h/f",
            file: .destination("/f"), session: "default", priority: .normal,
            isDiscretionary: true, createdAt: now)
        transfer.schedule.windows = TimeWindows(parsing: "01:00-01:05")
        transfer.waitingFor = [WaitReason(.power, required: "external")]
        let forecast = Forecast(transfer, rate: nil, now: now, time: .utc) {
            "\($0 - Self.midnight)"
        }
        #expect(forecast.startsAt == nil)
        #expect(forecast.text.contains("not before 90000"))
    }
}
