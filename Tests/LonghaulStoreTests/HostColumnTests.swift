import LonghaulCore
import Testing

@testable import LonghaulStore

/// As ``ColumnTests``, for hosts, their launches and their tasks.
@Suite struct HostColumnTests {
    private let scratch: ScratchStore

    init() throws {
        scratch = try ScratchStore()
    }

    @Test func aHost() throws {
        var job = JobSettings(directory: "/d", environment: [:])
        job.nice = 7
        try scratch.insert(
            "host",
            [
                "name": "'n1'", "argv": quoted(["a2"]), "permitted": quoted(["p3"]),
                "eventBudget": "4.5", "taskBudget": "5.5", "created": "6", "failures": "7",
                "retryAt": "8", "urgencyLostUntil": "9", "wakeUpsFullAt": "10", "token": "'t11'",
                "maxMemory": "12", "notify": "1",
            ])
        let host = try #require(try scratch.store.hosts.find("n1"))
        #expect(host.name == "n1" && host.failures == 7)
        var settings = HostSettings(
            argv: ["a2"], permitted: ["p3"], eventBudget: 4.5, taskBudget: 5.5, maxMemory: 12)
        settings.notifies = true
        #expect(host.program == .host(settings))
        #expect(milliseconds(host.created, host.retryAt, host.urgencyLostUntil) == [6, 8, 9])
        #expect(host.wakeUpBudget.fullAt?.milliseconds == 10 && host.hasToken)
        #expect(try scratch.store.hosts.token(of: "n1") == "t11")
        // Failures from before the last reset do not count.
        try scratch.store.access { try $0.run("UPDATE host SET reset = 1") }
        let reset = try #require(try scratch.store.hosts.find("n1"))
        #expect(reset.failures == 0 && reset.retryAt == nil)
        try scratch.store.access { try $0.run("UPDATE host SET job = ?1", StoredJSON.encode(job)) }
        #expect(try scratch.store.hosts.find("n1")?.program == .job(argv: ["a2"], job))
    }

    @Test func aLaunch() throws {
        try scratch.insert("session", ["id": "3", "name": "'s3'", "created": "1"])
        try scratch.insert(
            "launch",
            [
                "id": "1", "host": "'h2'", "sessionID": "3", "reason": "'task'", "firstSeq": "4",
                "lastSeq": "5", "handed": "6", "startedAt": "7", "deadline": "8",
                "resident": "9", "pid": "10", "pidStart": "11", "bootID": "'b12'",
                "endedAt": "13", "ending": "'signalled'", "status": "14", "output": "'o15'",
                "expiration": "'processor'", "processorSeconds": "16.5",
            ])
        try scratch.insert(
            "taskRun",
            [
                "host": "'h2'", "identifier": "'t17'", "kind": "'processing'", "launch": "1",
                "reason": "'retry'", "trigger": "'battery'", "startedAt": "18", "endedAt": "19",
                "result": "'noData'", "expiration": "'simulated'", "missedTransfer": "20",
            ])
        let launch = try #require(try scratch.store.hosts.launch(LaunchID(rawValue: 1)))
        #expect(launch.id.rawValue == 1 && launch.host == "h2" && launch.session == "s3")
        #expect(launch.reason == .task && launch.events == 4...5 && launch.handed == 6)
        #expect(launch.tasks == ["t17"] && launch.resident?.rawValue == 9 && !launch.isOfJob)
        #expect(launch.process == LaunchedProcess(pid: 10, startTicks: 11, bootID: "b12"))
        #expect(milliseconds(launch.startedAt, launch.deadline, launch.endedAt) == [7, 8, 13])
        let outcome = try #require(launch.outcome)
        #expect(outcome.ending == .signalled && outcome.status == 14 && outcome.output == "o15")
        #expect(outcome.expiration == .processor && launch.requested == .processor)
        #expect(outcome.processorSeconds == 16.5)

        let run = try #require(try scratch.store.tasks.runs(of: "t17", host: "h2").first)
        #expect(run.kind == .processing && run.launch == 1 && run.triggers == [.battery])
        #expect(milliseconds(run.startedAt, run.endedAt) == [18, 19] && run.result == .noData)
        #expect(run.expiration == .simulated && run.reason == .retry)
        #expect(run.missedTransfer?.rawValue == 20 && run.processorSeconds == 16.5)
        #expect(run.exitStatus == nil && run.signal == 14)
    }

    @Test func aTask() throws {
        try scratch.insert(
            "task",
            [
                "id": "1", "host": "'h2'", "identifier": "'i3'", "kind": "1",
                "definition": quoted(["requirements": "power", "prefers": "idle"]),
                "payload": "'p4'",
                "urgent": "1", "expiresAt": "5", "submittedAt": "6", "simulated": "2",
                "paused": "1", "eligibility": "7", "readyAt": "8", "dueAt": "9",
                "mayBeginAt": "10", "waivesAt": "11", "windowAt": "12", "lastStart": "13",
                "failures": "14", "deferrals": "15", "emptyRuns": "16", "writtenAt": "17",
                "trigger": "'battery'", "triggeredAt": "18", "launch": "19", "startedAt": "20",
                "firedBy": "'power'", "firedAt": "21", "awaits": "'22,23'",
                "progress": quoted(ProgressReport(title: "t24")), "reports": "25",
            ])
        let task = try #require(try scratch.store.tasks.find("i3").first)
        #expect(task.id.rawValue == 1 && task.host == "h2" && task.kind == .processing)
        let request = task.request
        #expect(request.identifier == "i3" && request.kind == .processing)
        #expect(request.host == "h2" && request.payload == "p4")
        #expect(request.requirements == ConditionNeeds(power: true))
        #expect(request.prefers == ConditionNeeds(idle: true))
        #expect(task.isUrgent && task.isSimulated && task.isCancelled && task.isPaused)
        #expect(task.eligibility == EligibilityKey(stored: 7, terms: nil))
        let timing = task.timing
        #expect(
            milliseconds(
                task.expiresAt, task.submittedAt, timing.dueAt, timing.mayBeginAt,
                timing.waivesAt, timing.window, timing.lastStart, task.writtenAt, task.startedAt)
                == [5, 6, 9, 10, 11, 12, 13, 17, 20])
        #expect(timing.failures == 14 && timing.deferrals == 15 && timing.emptyRuns == 16)
        #expect(task.report == ProgressReport(title: "t24") && task.reports == 25)
        #expect(task.launch?.rawValue == 19 && task.awaits.map(\.rawValue) == [22, 23])
        #expect(
            task.trigger
                == FiredTrigger([TriggerEvent(.battery)], at: Timestamp(milliseconds: 18)))
        #expect(
            task.firedBy == FiredTrigger([TriggerEvent(.power)], at: Timestamp(milliseconds: 21)))
    }

    @Test func aSubscription() throws {
        let error = LonghaulError(.network, "e8")
        try scratch.insert(
            "subscription",
            [
                "id": "1", "host": "'h2'", "url": "'u3'", "headersFrom": "'f4'", "urgent": "1",
                "lastID": "'i5'", "connectedAt": "6", "failures": "7", "retryAt": "9",
                "error": quoted(error),
            ])
        let found = try #require(try scratch.store.subscriptions.all(of: "h2").first)
        #expect(found.id == 1 && found.host == "h2" && found.url == "u3" && found.isUrgent)
        #expect(found.headersFrom == "f4" && found.lastID == "i5" && found.failures == 7)
        #expect(milliseconds(found.connectedAt, found.retryAt) == [6, 9] && found.error == error)
    }

    /// Wake-ups and the place after them are one transaction; what was removed takes nothing.
    @Test func aSubscriptionReceives() throws {
        let store = scratch.store
        let now = Timestamp(milliseconds: 1_000)
        try store.hosts.add("h", HostSettings(argv: ["/bin/true"]), now: now)
        try store.subscriptions.add(PushSubscription(id: 0, host: "h", url: "u"))
        let id = try #require(try store.subscriptions.all().first).id
        let many = (1...150).map { WakeUp(identifier: "n\($0)", payload: "1", isUrgent: true) }
        #expect(try store.subscriptions.receive(many, lastID: "a", by: id, now: now))
        #expect(try store.subscriptions.all().first?.lastID == "a")
        // A stream cannot fill the store with identifiers.
        #expect(try store.tasks.waiting(for: "h").count == 101)
        try store.subscriptions.add(PushSubscription(id: 0, host: "h", url: "u", isUrgent: true))
        let next = try #require(try store.subscriptions.all().first)
        #expect(next.id != id && next.lastID == "a" && next.isUrgent)
        #expect(try !store.subscriptions.receive(many, lastID: "b", by: id, now: now))
        for number in 2...8 {
            try store.subscriptions.add(PushSubscription(id: 0, host: "h", url: "u\(number)"))
        }
        #expect(throws: LonghaulError.self) {
            try store.subscriptions.add(PushSubscription(id: 0, host: "h", url: "u9"))
        }
        try store.hosts.remove("h")
        #expect(try store.subscriptions.isEmpty())
    }

    @Test func aWakeUpThatWasNotHandled() throws {
        try scratch.insert(
            "wakeUpEnd",
            [
                "host": "'h1'", "identifier": "'i2'", "urgent": "1", "submittedAt": "3",
                "at": "4", "launch": "5", "obstacle": "'power'",
            ])
        let end = try #require(try scratch.store.tasks.wakeUpEnds(of: "h1").first)
        #expect(end.identifier == "i2" && end.isUrgent && end.launch?.rawValue == 5)
        #expect(milliseconds(end.submittedAt, end.at) == [3, 4] && end.obstacle == .power)
    }

    @Test func aResidentAndItsReports() throws {
        try scratch.insert(
            "resident",
            ["id": "1", "host": "'h2'", "pid": "3", "pidStart": "4", "bootID": "'b5'"])
        let process = LaunchedProcess(pid: 3, startTicks: 4, bootID: "b5")
        #expect(
            try scratch.store.residents.all(of: "h2")
                == [StoredResident(id: ResidentID(rawValue: 1), host: "h2", process: process)])
        try scratch.insert("launchReport", ["launch": "6", "task": "'t7'", "result": "'noData'"])
        try scratch.insert("launchReport", ["launch": "8", "status": "9"])
        #expect(
            try scratch.store.residents.reports() == [
                LaunchReport(
                    launch: LaunchID(rawValue: 6), content: .result(task: "t7", .noData)),
                LaunchReport(launch: LaunchID(rawValue: 8), content: .ended(status: 9)),
            ])
        try scratch.insert(
            "reader",
            [
                "id": "1", "transfer": "10", "start": "2", "pid": "3", "pidStart": "4",
                "bootID": "'b5'",
            ])
        let swept = try scratch.store.readers.sweep { found in
            #expect(found == process)
            return false
        }
        #expect(swept.map(\.rawValue) == [10])
    }

    @Test func aSessionThatWaitsForItsHost() throws {
        try scratch.insert(
            "session",
            [
                "id": "1", "name": "'s2'", "created": "3", "host": "'h4'", "discretionary": "1",
                "launchEvents": "0", "askBeforeStart": "1", "launchDelay": "5.5",
                "lastLaunch": "6",
            ])
        try scratch.insert(
            "event", ["at": "7", "sessionID": "1", "transferID": "8", "type": "'t9'"])
        let stored = try #require(try scratch.store.sessions.find("s2"))
        #expect(stored.name == "s2" && stored.created.milliseconds == 3)
        let settings = stored.settings
        #expect(settings.host == "h4" && settings.isDiscretionary && !settings.launchEvents)
        #expect(settings.askBeforeStart && settings.launchDelay == 5.5)

        let host = try #require(try scratch.store.tasks.facts().snapshot.hosts["h4"])
        #expect(host.name == "h4" && host.obstacle == .removed)
        let session = try #require(host.sessions.first)
        #expect(session.name == "s2" && !session.launchEvents && session.launchDelay == 5.5)
        #expect(session.firstWaiting.milliseconds == 7 && session.lastLaunch == 6)
        #expect(session.isDrained && !session.needsInput)
    }

    @Test func theLease() throws {
        try scratch.store.access {
            try $0.run(
                """
                UPDATE lease SET epoch = 1, storeID = 's2', pid = 3, pidStart = 4, bootID = 'b5', \
                mode = 'm6', since = 7, nextWake = 8
                """)
        }
        let info = try scratch.store.lease.info()
        #expect(info.epoch.rawValue == 1 && info.storeID == "s2")
        #expect(info.holder == EngineHolder(pid: 3, pidStart: 4, bootID: "b5", mode: "m6"))
        #expect(milliseconds(info.since, info.nextWake) == [7, 8])
    }
}
