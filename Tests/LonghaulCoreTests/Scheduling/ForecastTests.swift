import LonghaulCore
import Testing

@Suite struct ForecastTests {
    private static let now = Timestamp(milliseconds: 1_000_000_000)

    /// Preferences are waived after a while, but nothing starts when its deadline is over.
    @Test(arguments: [(3_600.0, true), (90_000.0, false)])
    func aPreferenceIsNotWaivedAfterTheDeadline(after seconds: Double, starts: Bool) {
        var transfer = Transfer(
            id: TransferID(rawValue: 1), state: .waiting, url: "https://h/f", destination: "/f",
            session: "default", priority: .normal, isDiscretionary: true, createdAt: Self.now)
        transfer.deadline = Self.now + 86_400
        transfer.waivesBy = Self.now + seconds
        var wait = WaitReason(.power)
        wait.required = "external (preferred)"
        transfer.waitingFor = [wait]
        let forecast = Forecast(transfer, rate: nil, now: Self.now) { "\($0.milliseconds)" }
        #expect(forecast.startsAt == (starts ? Self.now + seconds : nil))
        #expect(forecast.text.contains("at the latest") == starts)
        #expect(forecast.text.contains("it gives up at"))
    }
}
