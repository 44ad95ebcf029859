import LonghaulCore
import Testing

@testable import LonghaulStore

/// Which jobs a decision of the engine finds: within their windows, and after their transfers.
@Suite struct JobStoreTests {
    private let scratch: ScratchStore
    private let epoch: Epoch

    init() throws {
        scratch = try ScratchStore()
        epoch = try scratch.lead()
    }

    private func add(_ name: String, _ change: (inout TaskRequest) -> Void) throws {
        var settings = HostSettings(argv: ["/bin/true"])
        settings.job = JobSettings(directory: "/", environment: [:])
        settings.job?.isOnce = true
        var request = TaskRequest(identifier: name, kind: .processing)
        request.job = JobSchedule()
        change(&request)
        _ = try scratch.store.jobs.add(
            RegisteredJobs.NewJob(name: name, settings: settings, request: request), now: .start,
            .utc)
    }

    private func head(at now: Timestamp) throws -> TaskHead {
        var head = TaskHead()
        try scratch.turn(epoch) { tx in
            head = try tx.tasks.head(now: now, .utc) { _ in true }
        }
        return head
    }

    /// The engine is told when the window opens, also after what puts nothing off has been read.
    @Test func aJobWaitsForItsWindow() throws {
        let time = LocalTime.utc
        let minute = Int(Timestamp.start.milliseconds / 60_000 % 1440)
        let window = try #require(
            TimeWindow(start: (minute + 10) % 1440, end: (minute + 20) % 1440))
        try add("j") { $0.job?.windows = TimeWindows(parsing: window.description) }
        let opens = window.phase(at: .start, time).until
        for _ in 1...2 {
            let closed = try head(at: .start + 1)
            #expect(closed.due.isEmpty && closed.next == opens)
        }
        #expect(try head(at: opens).due.map(\.host) == ["j"])
        // After the window it is the next day's.
        try scratch.turn(epoch) { tx in try tx.tasks.releaseAll() }
        let late = try head(at: opens + 600)
        #expect(late.due.isEmpty && late.next == opens + 86_400)
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

    /// A run that was stopped has its pause, whatever the conditions do; one that put itself off
    /// comes as soon as they change.
    @Test(arguments: [true, false]) func aPauseAfterAStopIsKept(isStopped: Bool) throws {
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
                outcome.isOfJob = true
                outcome.expiration = isStopped ? .requirement : nil
                try tx.launches.end(id, outcome, now: .start, .utc)
            }
        }
        try scratch.turn(epoch) { tx in try tx.tasks.returnDeferred({ _ in true }, now: .start + 1)
        }
        let task = try #require(try scratch.store.tasks.find("j", host: "j").first)
        #expect(task.timing.deferrals == 5)
        #expect(task.readyAt == .start + (isStopped ? 16 : 1))
    }

    @Test func aJobAfterNoSuchTransferIsRefused() throws {
        #expect(throws: LonghaulError.self) {
            try add("j") { $0.job?.after = [TransferID(rawValue: 7)] }
        }
        #expect(try scratch.store.jobs.all().isEmpty)
    }
}
