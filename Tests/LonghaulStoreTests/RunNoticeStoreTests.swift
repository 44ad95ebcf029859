import LonghaulCore
import Testing

@testable import LonghaulStore

/// Ends of runs and activities that wait in the store for their notices.
@Suite struct RunNoticeStoreTests {
    private let scratch: ScratchStore
    private let epoch: Epoch
    private var log: NoticeLog { scratch.store.notices }

    init() throws {
        scratch = try ScratchStore()
        epoch = try scratch.lead()
    }

    private func addHost(notifies: Bool) throws {
        var settings = HostSettings(argv: ["/bin/true"], permitted: ["t"])
        settings.notifies = notifies
        try scratch.store.hosts.add("h", settings, now: .start)
    }

    private func addJob(
        notifies: Bool = true, isOnce: Bool = false, deadline: Timestamp? = nil
    ) throws {
        var settings = JobSettings(directory: "/", environment: [:])
        settings.notifies = notifies
        settings.isOnce = isOnce
        var request = TaskRequest(identifier: "j", kind: .processing, host: "j")
        var schedule = JobSchedule()
        schedule.retries = 0
        schedule.deadline = deadline
        request.job = schedule
        if !isOnce { request.repetition = TaskRepetition(interval: 60) }
        _ = try scratch.store.jobs.add(
            RegisteredJobs.NewJob(
                name: "j", argv: ["/bin/true"], settings: settings, request: request),
            now: .start, .utc)
    }

    /// A launch of the request that waits, and its end.
    private func run(_ host: String, _ outcome: LaunchOutcome, number: Int64 = 1) throws {
        let task = try #require(try scratch.store.tasks.waiting(for: host).first)
        var handover = Handover(session: nil, reason: .task, events: nil, count: 0)
        handover.tasks = [task.id]
        let id = LaunchID(rawValue: number)
        try scratch.turn(epoch) { tx in
            try tx.launches.begin(
                id, of: host, handover, process: nil, deadline: .start + 60, now: .start)
            try tx.launches.end(id, outcome, now: .start + 2)
        }
    }

    private func outcome(_ expiration: ExpirationReason) -> LaunchOutcome {
        var outcome = LaunchOutcome(.expired, status: 15, output: "o")
        outcome.expiration = expiration
        return outcome
    }

    private func submit() throws {
        let request = TaskRequest(identifier: "t", kind: .processing, host: "h")
        _ = try scratch.store.tasks.submit(request, now: .start)
    }

    @Test func anExpiredTaskWaitsUntilItIsDelivered() throws {
        try addHost(notifies: true)
        #expect(try log.isWanted())
        try submit()
        try run("h", outcome(.time))
        let notice = try #require(try log.endedRuns().first)
        #expect(notice.host == "h" && notice.identifier == "t" && notice.name == "t")
        #expect(!notice.isOfJob && notice.run.expiration == .time)
        #expect(notice.outcome?.ending == .expired && notice.outcome?.output == "o")
        try log.delivered(notice)
        #expect(try log.endedRuns().isEmpty)
    }

    /// A host that does not ask, and one that does not ask any more.
    @Test(arguments: [false, true]) func nobodyAsksForIt(isAskedFirst: Bool) throws {
        try addHost(notifies: isAskedFirst)
        try submit()
        try run("h", outcome(.time))
        #expect(try log.endedRuns().count == (isAskedFirst ? 1 : 0))
        try addHost(notifies: false)
        #expect(try log.endedRuns().isEmpty && !log.isWanted())
    }

    @Test func aHostThatIsRemovedHasNone() throws {
        try addHost(notifies: true)
        try submit()
        try run("h", outcome(.time))
        #expect(try log.record(expired: "a", of: "h"))
        try scratch.store.hosts.remove("h")
        #expect(try log.endedRuns().isEmpty && log.expiredActivities().isEmpty)
        #expect(try !log.isWanted())
    }

    @Test func anExpiredActivityWaitsUntilItIsDelivered() throws {
        try addHost(notifies: false)
        #expect(try !log.record(expired: "a", of: "h"))
        #expect(try !log.record(expired: "a", of: "nobody"))
        try addHost(notifies: true)
        for number in 0...100 { #expect(try log.record(expired: "a\(number)", of: "h")) }
        let activities = try log.expiredActivities()
        #expect(activities.map(\.name) == (1...100).map { "a\($0)" })
        #expect(activities.allSatisfy { $0.host == "h" })
        for activity in activities { try log.delivered(activity) }
        #expect(try log.expiredActivities().isEmpty)
    }

    /// The log of a task has ten runs, and more while their notices wait.
    @Test func failedRunsOfAJobWait() throws {
        try addJob()
        for number in 1...12 {
            try run(
                "j", LaunchOutcome(.exited, status: 3, output: "o\(number)"),
                number: Int64(number))
        }
        let notices = try log.endedRuns()
        #expect(notices.map(\.outcome?.output) == (1...12).map { "o\($0)" })
        #expect(notices.allSatisfy { $0.isOfJob && $0.name == "j" && $0.run.hasFailed })
        #expect(notices.first?.outcome?.status == 3)
        // Replaced by one that does not ask.
        try addJob(notifies: false)
        #expect(try log.endedRuns().isEmpty)
    }

    @Test(arguments: [false, true]) func aRunThatIsDone(isOnce: Bool) throws {
        try addJob(isOnce: isOnce)
        try run("j", LaunchOutcome(.exited, status: 0))
        #expect(try log.endedRuns().map(\.run.result) == (isOnce ? [.success] : []))
    }

    @Test func aDeadlineThatHasPassedIsAFailure() throws {
        try addJob(isOnce: true, deadline: .start + 60)
        _ = try scratch.decide(epoch, at: .start + 61)
        let notice = try #require(try log.endedRuns().first)
        #expect(notice.run.hasFailed && notice.run.miss?.contains("deadline") == true)
        #expect(notice.outcome == nil && notice.isOfJob)
    }
}
