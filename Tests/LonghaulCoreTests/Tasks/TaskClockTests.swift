import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// When requests come again: after submissions, ends and clocks that were set.
@Suite struct TaskClockTests {
    private let now = Timestamp(milliseconds: 1_790_000_000_000)
    private var hourly: TaskRequest {
        var request = TaskRequest(identifier: "backup", kind: .processing)
        request.repetition = TaskRepetition(interval: 3600)
        return request
    }

    @Test func submittingItAgainAndAgainPutsNoRunOff() {
        var timing = TaskTiming(hourly, replacing: nil, place: 1, now: now)
        timing.lastStart = now
        for minute in 1...60 {
            let then = now + Double(minute) * 60
            timing = TaskTiming(hourly, replacing: timing, place: 1, now: then)
        }
        #expect(timing.dueAt <= now + 3600)
        #expect(timing.mayBeginAt >= now + 1800)
    }

    @Test func aClockThatIsSetBackHoldsNoNewRequestBack() {
        var timing = TaskTiming(
            TaskRequest(identifier: "backup"), replacing: nil, place: 0, now: now)
        timing.follow(now, earliest: nil, now: now + -7200)
        #expect(timing.dueAt == now + -7200)
    }

    @Test func anEarliestMomentStaysWhenTheClockIsSetBack() {
        var request = TaskRequest(identifier: "backup")
        request.earliestBegin = now + 60
        var timing = TaskTiming(request, replacing: nil, place: 0, now: now)
        timing.follow(now, earliest: request.earliestBegin, now: now + -7200)
        #expect(timing.dueAt == now + 60)
    }

    @Test func aStandingRequestWaitsForItsTriggerWhateverTheClock() {
        var request = TaskRequest(identifier: "backup")
        request.triggers = [.online]
        var timing = TaskTiming(request, replacing: nil, place: 0, now: now)
        timing.follow(now, earliest: nil, now: now + -7200)
        #expect(timing.dueAt == .distantFuture)
    }

    /// A run that was put off, or was lost, after its preferences had been waived.
    @Test(arguments: [TaskEnd.result(.deferred), .lost, .expired(.requirement)])
    func preferencesThatWereWaivedDoNotComeBack(_ end: TaskEnd) {
        var timing = TaskTiming(hourly, replacing: nil, place: 0, now: now)
        timing.waivesAt = nil
        let settled = TaskSettlement.decide(
            hourly, timing, end, started: now, place: 0, now: now + 10)
        guard case .again(let next) = settled else {
            Issue.record("it waits again")
            return
        }
        #expect(next.waivesAt == next.dueAt)
    }
}
