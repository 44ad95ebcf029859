import LonghaulCore
import Testing

@testable import LonghaulStore

/// What the store keeps of jobs.
@Suite struct JobStoreTests {
    private let scratch: ScratchStore
    private let epoch: Epoch

    init() throws {
        scratch = try ScratchStore()
        epoch = try scratch.lead()
    }

    private func add(_ name: String, _ change: (inout TaskRequest) -> Void) throws {
        var settings = JobSettings(directory: "/", environment: [:])
        settings.isOnce = true
        var request = TaskRequest(identifier: name, kind: .processing)
        request.job = JobSchedule()
        change(&request)
        _ = try scratch.store.jobs.add(
            RegisteredJobs.NewJob(
                name: name, argv: ["/bin/true"], settings: settings, request: request), now: .start,
            .utc)
    }

    /// The zone of times and windows, and all times, come back from the store.
    @Test func aScheduleKeepsItsZoneAndItsTimes() throws {
        for zone in [nil, "America/New_York", "<+0545>-5:45", ""] {
            try add("j\(zone ?? "none")") {
                $0.job?.daily = DailyMoment(parsing: "02:30,14:30")
                $0.job?.windows = TimeWindows(parsing: "22:00-06:00")
                $0.job?.timeZone = zone
            }
            let kept = try scratch.store.tasks.find(
                "j\(zone ?? "none")", host: "j\(zone ?? "none")")
            #expect(kept.first?.request.job?.daily?.times == "02:30,14:30")
            #expect(kept.first?.request.job?.daily?.timeZone == zone)
            #expect(kept.first?.request.job?.windows?.timeZone == zone)
        }
    }

    /// It has its pause, whatever the conditions do; one that put itself off comes as soon as they
    /// change.
    @Test(arguments: [true, false]) func aRunThatWasStoppedIsKnown(isStopped: Bool) throws {
        try add("j") { $0.requirements.power = true }
        for run in 1...5 {
            let task = try #require(try scratch.store.tasks.find("j", host: "j").first)
            try scratch.turn(epoch) { tx in
                let id = LaunchID(rawValue: Int64(run))
                var handover = Handover(session: nil, reason: .task, events: nil, count: 0)
                handover.tasks = [task.id]
                try tx.launches.begin(
                    id, of: "j", handover, process: nil, deadline: .start + 99, now: .start)
                var outcome = LaunchOutcome(isStopped ? .expired : .exited, status: 75)
                outcome.expiration = isStopped ? .requirement : nil
                try tx.launches.end(id, outcome, now: .start, .utc)
            }
        }
        let task = try #require(try scratch.store.tasks.find("j", host: "j").first)
        #expect(task.timing.deferrals == 5 && task.timing.dueAt == .start + 16)
        #expect(task.wasStopped == isStopped)
    }

    @Test func aJobAfterNoSuchTransferIsRefused() throws {
        #expect(throws: LonghaulError.self) {
            try add("j") { $0.job?.after = [TransferID(rawValue: 7)] }
        }
        #expect(try scratch.store.jobs.all().isEmpty)
    }
}
