import Foundation
import LonghaulCore
import LonghaulTestSupport
import Testing

@testable import Longhaul
@testable import LonghaulCLI

/// The keys of JSON, their order and the nulls are the contract with scripts; the lines of the text
/// are what users know. Each record is shown with all its values, and with few.
@Suite struct ShownRecordTests {
    private static let now = Sample.now
    private static let waits = [
        WaitReason(
            .battery, required: "at least 50 % or external power", current: "4 %", since: now,
            nextCheck: now + 60), WaitReason(.power),
    ]

    private static var failed: Transfer {
        var transfer = Sample.transfer(9, .failed, name: "f", done: 5, total: 10, rate: 1.6)
        transfer.host = "com.example.h"
        transfer.priority = .high
        transfer.isDiscretionary = true
        transfer.schedule.windows = TimeWindows(parsing: "22:00-06:00")
        transfer.schedule.windows?.timeZone = "Europe/Berlin"
        transfer.schedule.requires = ConditionNeeds(power: true, battery: 50)
        transfer.arePreferencesWaived = true
        transfer.waiverCheck = now + 2
        transfer.runsNow = true
        transfer.stallTimeout = 90.5
        transfer.contentCoding = "gzip"
        transfer.earliestBegin = now
        transfer.deadline = now + 0.5
        transfer.expectedBytes = 11
        transfer.startedAt = now
        transfer.finishedAt = now + 1
        transfer.attempts = 3
        transfer.restarts = 1
        transfer.isUnresumable = true
        transfer.sharedWith = [TransferID(rawValue: 4), TransferID(rawValue: 5)]
        transfer.error = LonghaulError(
            .serverError, "busy", httpStatus: 503, curlCode: 22, retryable: true, bytesKept: 5)
        transfer.checksum = Checksum(algorithm: .md5, hex: "00ff")
        transfer.metadata = "{\"b\": 1,\n\"a\": 12345678901234567890123}"
        transfer.options.headers = HeaderFields([.init(name: "Cookie", value: "secret")])
        return transfer
    }

    private static var upload: Transfer {
        var transfer = Transfer(
            id: TransferID(rawValue: 7), state: .running, url: "https://me:secret@example.com/up",
            file: .source("/home/me/up.bin"), session: "default", priority: .low,
            isDiscretionary: false, createdAt: now + -60)
        transfer.options.upload = UploadOptions()
        transfer.options.upload?.method = .post
        transfer.schedule.prefers = ConditionNeeds(unmetered: true)
        transfer.waiverCheck = now + 60
        transfer.waivesBy = now + 600
        transfer.bytesTotal = 2048
        transfer.bytesDone = 1024
        transfer.bytesSent = 1500
        transfer.bytesChecked = 512
        transfer.bytesPerSecond = 1024
        transfer.waitingFor = waits
        transfer.error = LonghaulError(.network, "no")
        transfer.response = TransferResponse(
            url: "https://example.com/up?signature=secret", statusCode: 201,
            headers: HeaderFields([
                .init(name: "Set-Cookie", value: "secret"), .init(name: "ETag", value: "\"a\""),
                .init(name: "etag", value: "b"),
            ]))
        transfer.response?.body = Array("fine\nthanks".utf8)
        transfer.yielding = YieldReport(
            state: .yielded, queueingDelay: 0.0123, window: 4096, rate: 7, share: 0.256)
        return transfer
    }

    private static var skipped: Transfer {
        var transfer = upload
        transfer.state = .completed
        transfer.waitingFor = []
        transfer.response?.body = [0xFF, 0]
        return transfer
    }

    private static let attempt = AttemptRecord(
        number: 1, startedAt: now, endedAt: now + 1, url: "https://example.com/f", bytes: 7,
        httpStatus: 206, httpVersion: 20, outcome: "stopped", message: "late",
        phases: RequestPhases(peer: "192.0.2.1:80", connect: 0.02, firstByte: 0.001))

    private static let event = EventRecord(
        sequence: 3, at: now, session: "default", type: "transferRestarted",
        transferID: TransferID(rawValue: 9), detail: "{ }", acknowledgedAt: nil, transfer: upload,
        path: "/home/me/up.bin")

    private static var request: TaskRequest {
        var request = TaskRequest(identifier: "clean", kind: .processing, host: "h")
        request.earliestBegin = now + 60
        request.repetition = TaskRepetition(interval: 7 * 86_400)
        request.requirements = ConditionNeeds(power: true, network: true)
        request.triggers = [.online, .boot]
        request.payload = #"{"a": 1}"#
        request.returnsAfterExpiration = false
        return request
    }

    private static var runs: [TaskRun] {
        var killed = TaskRun(
            launch: 2, startedAt: now + -60, endedAt: now, expiration: .requirement)
        killed.signal = 9
        killed.processorSeconds = 1.5
        var ended = TaskRun(
            launch: 1, triggers: [.boot, .mount], startedAt: now + -120, endedAt: now,
            result: .failure)
        ended.exitStatus = 3
        ended.reason = .trigger
        var missed = TaskRun(launch: 0, startedAt: now, endedAt: now, result: .failure)
        missed.missedTransfer = TransferID(rawValue: 8)
        return [TaskRun(launch: 3, startedAt: now), killed, ended, missed]
    }

    private static var tasks: [TaskRecord] {
        let task = TaskRecord(
            request: request, state: .waiting, submittedAt: now, waitingFor: waits,
            forecast: Forecast(startsAt: now, endsAt: now + 1, text: "it begins"), failures: 2,
            emptyRuns: 1, runs: runs)
        let done = TaskRecord(
            request: TaskRequest(identifier: "done"), state: .done, submittedAt: now,
            forecast: Forecast(text: "it is done"))
        return [task, done]
    }

    private static var jobs: [JobRecord] {
        var schedule = JobSchedule()
        schedule.windows = TimeWindows(parsing: "22:00-06:00")
        schedule.prefers = ConditionNeeds(idle: true)
        schedule.isDiscretionary = true
        schedule.daily = DailyMoment(minutes: [90, 600])
        schedule.calendar = CalendarMoments(parsing: "monthly")
        schedule.retries = 4
        schedule.deadline = now + 3600
        schedule.after = [TransferID(rawValue: 1), TransferID(rawValue: 2)]
        schedule.timeZone = "Europe/Berlin"
        var request = request
        request.job = schedule
        request.expiresWhenRequirementIsLost = false
        var settings = JobSettings(directory: "/home/me", environment: [:])
        settings.maxSeconds = 60
        settings.inhibitsSleep = .onPower
        settings.notifies = true
        settings.slot = JobSlot(rawValue: "disk=2")
        settings.maxMemory = 64 << 20
        let job = JobRecord(
            name: "backup", argv: ["/bin/sync", "token=secret"], settings: settings,
            request: request, state: .waiting, waitingFor: waits,
            forecast: Forecast(text: "it begins"), failures: 2, runs: runs)
        let ended = JobRecord(
            name: "once", argv: ["/bin/true"],
            settings: JobSettings(directory: "/", environment: [:]), state: .ended,
            forecast: Forecast(text: "it has ended"))
        return [job, ended]
    }

    private static var subscriptions: [PushSubscription] {
        var open = PushSubscription(id: 1, host: "h", url: "https://example.com/events")
        open.connectedAt = now
        open.lastID = "7"
        var failed = PushSubscription(
            id: 2, host: "h", url: "https://example.com/t/json?auth=secret",
            headersFrom: "/home/me/token", isUrgent: true)
        failed.failures = 3
        failed.retryAt = now + 60
        failed.error = LonghaulError(.network, "no")
        return [open, failed]
    }

    private static var hosts: [HostRecord] {
        let launch = LaunchRecord(
            id: 5, reason: .sessionEvents, session: "default", events: 3...9, handed: 4,
            tasks: ["clean"], pid: 77, startedAt: now, deadline: now + 30, endedAt: now + 1,
            ending: .exited, status: 1, output: "one\ntwo", expiration: .time,
            processorSeconds: 2.25)
        let wakeUp = WakeUpRecord(
            identifier: "mail", state: .waiting, isUrgent: true, submittedAt: now,
            expiresAt: now + 600, waitingFor: waits, forecast: Forecast(text: "it begins"))
        let dropped = WakeUpRecord(
            identifier: nil, state: .dropped, isUrgent: false, submittedAt: now, endedAt: now,
            launch: 5, droppedFor: .backoff)
        let host = HostRecord(
            name: "h", settings: HostSettings(argv: ["/bin/h", "a"], permitted: ["clean"]),
            createdAt: now, state: .blocked(.missing), obstacle: .missing, failures: 2,
            nextLaunch: now + 5, launches: [launch], urgencyLostUntil: now + 60,
            hasToken: true, subscriptions: subscriptions, wakeUps: [wakeUp, dropped])
        var notifying = HostSettings(argv: ["/bin/i"], eventBudget: 5, maxMemory: 1 << 30)
        notifying.notifies = true
        let idle = HostRecord(
            name: "i", settings: notifying, createdAt: now,
            state: .idle, failures: 0, launches: [])
        return [host, idle]
    }

    private static var session: SessionRecord {
        var settings = SessionSettings()
        settings.host = "h"
        return SessionRecord(
            name: "s", createdAt: now, settings: settings, counts: [.waiting: 2], waitingEvents: 3,
            acknowledgedThrough: 4, acknowledgingLaunch: 5)
    }

    private static var conditions: Conditions {
        var conditions = Conditions()
        conditions.power = Reading(.battery, source: "upower", since: now)
        conditions.isIdle = Reading(false, source: "logind", since: now)
        conditions.savesPower = Reading(true, source: "powerprofiles", since: now)
        return conditions
    }

    private static var json: [String] {
        var json = JSONText()
        func line(_ write: (inout JSONText) -> Void) {
            write(&json)
            json.endLine()
        }
        line { $0.value(Sample.transfer(1, .waiting, name: "f")) }
        line { $0.value(failed) }
        line { $0.value(failed, as: Transfer.listed) }
        line { $0.value((upload, "\"v1\"", [attempt], [event]), as: Transfer.fieldsOfHistory) }
        line { $0.value((skipped, nil, [], []), as: Transfer.fieldsOfHistory) }
        line { $0.value((upload, Forecast(text: "soon")), as: Transfer.why) }
        line { $0.value(event) }
        line { $0.value(event, as: EventRecord.fieldsForHost) }
        for task in tasks { line { $0.value(task) } }
        for job in jobs { line { $0.value(job) } }
        for host in hosts { line { $0.value(host) } }
        line { $0.value(session) }
        for kind in ConditionKind.allCases {
            line { $0.value((kind, conditions), as: ConditionKind.fields) }
        }
        var status = QueueStatus(
            engine: QueueStatus.Engine(pid: 42, mode: .daemon, since: now), counts: [.waiting: 2],
            bytesPerSecond: 1.5e6, nextWake: now, configuration: "/c")
        line { $0.value(status) }
        status.engine = nil
        line { $0.value(status) }
        line {
            $0.value(
                EngineSummary(
                    completed: 3, failed: 1, left: 2, bytes: 1000, seconds: 1.2345,
                    stoppedBy: .maxTime))
        }
        line { $0.value(DoctorFinding(check: "store", ok: true, detail: "fine")) }
        line {
            $0.refusal(
                LonghaulError(.conflict, "taken", transferID: TransferID(rawValue: 3)), line: 7)
        }
        line { $0.installStep(.file("/a", .written)) }
        line { $0.installStep(.command("a", failure: "b")) }
        return json.text.split(separator: "\n").map(String.init)
    }

    private static var text: [String] {
        let transfer = TransferText(time: Sample.time, terminal: Sample.terminal(columns: nil))
        var lines = transfer.lines(failed, attempts: [], events: [])
        lines += transfer.lines(upload, attempts: [attempt], events: [event])
        lines += transfer.lines(skipped, attempts: [], events: [])
        lines += tasks.flatMap(TaskText(time: Sample.time).lines)
        lines += jobs.flatMap(JobText(time: Sample.time).lines)
        return lines + hosts.flatMap { HostText(time: Sample.time).lines($0, tasks) }
    }

    @Test func allIsShownAsItWas() throws {
        let shown = (Self.json + Self.text).joined(separator: "\n") + "\n"
        if ProcessInfo.processInfo.environment["LONGHAUL_WRITE_PAGES"] != nil {
            try shown.write(
                toFile: Fixture.path("output/shown.txt"), atomically: true, encoding: .utf8)
        }
        #expect(try shown == Fixture.text("output/shown.txt"))
    }

    /// The pages name every key that JSON has.
    @Test func everyKeyIsDocumented() throws {
        let keys =
            Transfer.listed.map(\.key) + TaskRecord.fields.map(\.key) + TaskRun.fields.map(\.key)
            + JobRecord.fields.map(\.key) + HostRecord.fields.map(\.key)
            + LaunchRecord.fields.map(\.key) + WakeUpRecord.fields.map(\.key)
            + SessionRecord.fields.map(\.key) + EventRecord.fields.map(\.key)
            + WaitReason.fields.map(\.key) + LonghaulError.fields.map(\.key)
            + QueueStatus.fields.map(\.key)
        let pages = try ["commands.md", "events.md"].map { try Fixture.text("../docs/\($0)") }
            .joined()
        let missing = keys.filter { key in
            !["`\(key)`", "\"\(key)\"", "`\(key),", " \(key),", "{\(key),", " \(key)}"].contains {
                pages.contains($0)
            }
        }
        #expect(missing == [])
    }
}
