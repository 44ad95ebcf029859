import Foundation
import LonghaulStore
import LonghaulTestSupport
import Testing

@testable import Longhaul

/// Requests as programs make them, and what is recorded of them.
@Suite(.timeLimit(.minutes(60))) struct SchedulerTests {
    private let home: SessionHome

    init() throws {
        home = try SessionHome()
    }

    private func scheduler(
        _ permitted: [String]? = ["refresh", "clean", "sync"], command: [String] = ["/bin/true"]
    ) async throws -> BackgroundTaskScheduler {
        try await BackgroundTaskScheduler(
            host: HostProgram(
                identifier: "com.example.feed", command: command,
                permittedTaskIdentifiers: permitted), store: home.store)
    }

    @Test func requestsComeBackAsTheyWereSubmitted() async throws {
        let scheduler = try await scheduler()
        let refresh = AppRefreshTaskRequest(
            identifier: "refresh",
            earliestBeginDate: Date(timeIntervalSince1970: 4_000_000_000))
        var clean = ProcessingTaskRequest(identifier: "clean")
        clean.requiresExternalPower = true
        clean.requiresNetworkConnectivity = true
        clean.requiresUnmeteredNetwork = true
        clean.requiresIdle = true
        clean.minimumBatteryLevel = 40
        clean.repeats = .every(7 * 86_400, tolerance: 86_400)
        clean.payload = .object(["keep": 100, "of": ["a", 1.5, true, .null]])
        clean.request.returnsAfterExpiration = false
        let sync = TriggerRequest(identifier: "sync", on: [.online, .networkChange])
        try await scheduler.submit(refresh)
        try await scheduler.submit(clean)
        try await scheduler.submit(sync)

        let again = try await self.scheduler(nil)
        let pending = try await again.pendingTaskRequests
        #expect(pending.map(\.identifier) == ["clean", "refresh", "sync"])
        func same<R: BackgroundTaskRequest>(_ found: any BackgroundTaskRequest, _ sent: R) -> Bool {
            var sent = sent
            sent.request.host = (found as? R)?.request.host
            return found as? R == sent
        }
        #expect(same(pending[0], clean))
        #expect(same(pending[1], refresh))
        #expect(same(pending[2], sync))
        #expect((pending[0] as? ProcessingTaskRequest)?.payload?["keep"]?.integer == 100)

        try await again.cancel(taskRequestWithIdentifier: "clean")
        try await again.cancel(taskRequestWithIdentifier: "clean")
        #expect(try await scheduler.pendingTaskRequests.map(\.identifier) == ["refresh", "sync"])
        try await again.cancelAllTaskRequests()
        #expect(try await scheduler.pendingTaskRequests.isEmpty)
    }

    /// Nothing would start the host, and the program would never know. A service is asked for an
    /// engine.
    @Test func aRequestWithoutAnEngineSaysSo() async throws {
        func submit() async throws -> CLIProcess.Result {
            try await CLIProcess.run(
                BuiltBinary.named("LonghaulTestSession"), [home.store, "submit", "refresh"])
        }
        let alone = try await submit()
        #expect(alone.status == 0)
        #expect(alone.errors.contains("no engine runs that starts its host"), "\(alone.errors)")
        #expect(alone.errors.contains("task=refresh"), "\(alone.errors)")
        let wanted = home.store + "/wanted"
        try Data().write(to: URL(fileURLWithPath: wanted))
        let old = Date(timeIntervalSince1970: 1)
        try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: wanted)
        let served = try await submit()
        #expect(served.status == 0 && served.errors == "")
        let date = try FileManager.default.attributesOfItem(atPath: wanted)[.modificationDate]
        #expect(date as? Date != old)
    }

    @Test func whatIsPrintedIsForPeople() {
        var refresh = AppRefreshTaskRequest(identifier: "refresh")
        refresh.repeats = .every(900)
        refresh.requiresNetworkConnectivity = true
        refresh.payload = .object(["secret": 7])
        #expect(
            "\(refresh)"
                == "refresh refresh, every 900.0 s, up to 450.0 s earlier, requires network,"
                + " with a payload")
        let standing = TriggerRequest(identifier: "sync", on: [.online, .resume])
        #expect("\(standing)" == "refresh sync, on online and resume")
        var event = SessionEvent(
            sequence: 7, kind: .sessionFinished, date: Date(timeIntervalSince1970: 0),
            session: "photos")
        #expect("\(event)" == "sessionFinished (7, 1970-01-01T00:00:00.000Z) of photos")
        event.kind = .transferCompleted
        var transfer = Transfer(
            id: TransferID(rawValue: 3), state: .completed,
            url: "https://u:p@example.com/a?sig=abc", file: .destination("/a"), session: "photos",
            priority: .normal, isDiscretionary: false, createdAt: Timestamp(milliseconds: 0))
        transfer.bytesDone = 1
        event.transfer = transfer
        #expect("\(event)".contains("transfer 3 https://"))
        #expect(!"\(event)".contains("abc") && !"\(event)".contains("u:p"))
    }

    @Test func refusalsAreTyped() async throws {
        let scheduler = try await scheduler(["a", "b"])
        #expect(await refusal(scheduler, AppRefreshTaskRequest(identifier: "c")) == .notPermitted)
        try await scheduler.submit(AppRefreshTaskRequest(identifier: "a"))
        // Replaces.
        try await scheduler.submit(AppRefreshTaskRequest(identifier: "a"))
        #expect(
            await refusal(scheduler, AppRefreshTaskRequest(identifier: "b"))
                == .tooManyPendingTaskRequests)
        try await scheduler.submit(ProcessingTaskRequest(identifier: "b"))
        var often = ProcessingTaskRequest(identifier: "b")
        often.repeats = .every(0.5)
        #expect(await refusal(scheduler, often) == .invalidRequest)
        for level in [0, 101, -5] {
            var low = ProcessingTaskRequest(identifier: "b")
            low.minimumBatteryLevel = level
            #expect(await refusal(scheduler, low) == .invalidRequest)
        }
        #expect(
            await refusal(scheduler, TriggerRequest(identifier: "b", on: [])) == .invalidRequest)
        var long = ProcessingTaskRequest(identifier: "b")
        long.payload = .string(String(repeating: "x", count: 65 << 10))
        #expect(await refusal(scheduler, long) == .invalidRequest)
        await #expect(throws: LonghaulError.self) {
            try await scheduler.wake(host: "com.example.other")
        }
        let broken = try await self.scheduler(nil, command: [home.scratch("missing")])
        #expect(
            await refusal(broken, ProcessingTaskRequest(identifier: "b")) == .unavailable)
        #expect(!scheduler.register(forTaskWithIdentifier: "c") { _ in })
        #expect(scheduler.register(forTaskWithIdentifier: "a") { _ in })
        #expect(!scheduler.register(forTaskWithIdentifier: "a") { _ in })
    }

    private func refusal(
        _ scheduler: BackgroundTaskScheduler, _ request: any BackgroundTaskRequest
    ) async -> LonghaulError.Code? {
        do {
            try await scheduler.submit(request)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func payloadsAreWhatTheyWere() throws {
        let text = #"{"a":[1,-2.5,true,null,"ü\n"],"b":{"c":9007199254740993},"d":""}"#
        let payload = try JSONPayload(parsing: text)
        #expect(payload.text == text)
        #expect(payload["b"]?["c"]?.integer == 9_007_199_254_740_993)
        #expect(payload["a"]?["b"] == nil)
        #expect(JSONPayload.number(.infinity).text == "null")
        #expect(
            try JSONPayload(parsing: "[1.0,1e3,18446744073709551616,-0.5]")
                == [1, 1000, .number(18_446_744_073_709_551_616), -0.5])
        let deepest = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        #expect(try JSONPayload(parsing: deepest).text == deepest)
        for bad in ["{", "[01 2]", "[1.]", "[\(deepest)]", "1e999", #""\ud800""#, "[1]]", "nul"] {
            #expect(throws: LonghaulError.self, "\(bad)") { try JSONPayload(parsing: bad) }
        }
    }

    @Test func tasksAndWakeUpsOfALaunchAreRead() throws {
        let lines = """
            {"type":"task","identifier":"sync","kind":"processing","trigger":{"event":"online",\
            "at":"2026-01-02T03:04:05.000Z","events":["network-change","sunrise","online"]},\
            "attempt":2,"deadline":"2026-01-02T03:04:35.000Z",\
            "payload":{"keep":100}}
            {"type":"wake","identifier":null,"payload":null}

            """
        let launch = try #require(
            BackgroundLaunch(
                environment: [
                    "LONGHAUL_LAUNCH_ID": "3", "LONGHAUL_HOST": "h", "LONGHAUL_TASK": "sync",
                    "LONGHAUL_LAUNCH_REASON": "wake",
                ], input: Data(lines.utf8)))
        #expect(launch.host == "h")
        #expect(launch.reason == .wake)
        let task = try #require(launch.tasks.first)
        #expect(task.identifier == "sync")
        #expect(task.kind == .processing)
        #expect(task.trigger == .online && task.triggers == [.networkChange, .online])
        #expect(task.attempt == 2)
        #expect(task.payload == .object(["keep": 100]))
        #expect(task.deadline == Date(timeIntervalSince1970: 1_767_323_075))
        #expect(launch.wakeUps == [BackgroundLaunch.HandedWakeUp()])
    }

    private func task(endsIn seconds: Double?) throws -> BackgroundTask {
        let deadline = seconds.map { Date.now + $0 }
        let launch = try #require(
            BackgroundLaunch(environment: ["LONGHAUL_LAUNCH_ID": "1"], input: Data()))
        return BackgroundTask(
            BackgroundLaunch.HandedTask(
                identifier: "t", kind: .refresh, attempt: 1, deadline: deadline), of: launch)
    }

    private func deferral(of task: BackgroundTask) -> Task<[TaskDeferral.Reason], Never> {
        Task {
            var reasons: [TaskDeferral.Reason] = []
            for await reason in task.shouldDefer { reasons.append(reason) }
            return reasons
        }
    }

    /// A deferral is due before the end, once; a task of a launch without an end has all the time.
    @Test func theEndOfTheTimeIsTold() async throws {
        let short = try task(endsIn: Limits.deferralNoticeSeconds + 0.2)
        let told = deferral(of: short)
        #expect(try await within { await told.value } == [.time])
        #expect(short.remainingTime <= Limits.deferralNoticeSeconds)
        let endless = try task(endsIn: nil)
        #expect(endless.remainingTime == .infinity)
        endless.expire()
        #expect(endless.remainingTime == 0)
        #expect(await endless.completion() == nil)
    }

    /// An expiration cancels the handler's Swift task, and is told all the same.
    @Test(arguments: [true, false]) func anExpirationIsTold(cancels: Bool) async throws {
        let task = try task(endsIn: nil)
        let told = deferral(of: task)
        task.expire()
        if cancels { told.cancel() }
        #expect(try await within { await told.value } == [.time])
        let other = deferral(of: try self.task(endsIn: nil))
        other.cancel()
        #expect(try await within { await other.value } == [])
    }

    @Test func usesOfTheHostAreRecorded() async throws {
        _ = try await scheduler()
        let queue = try TransferQueue(directory: home.store)
        #expect(try queue.store.hosts.usage(of: "com.example.feed")?.lastUse == nil)
        var host = BackgroundHost(identifier: "com.example.feed", store: home.store)
        host.backgroundTask(.appRefresh("refresh")) { _ in }
        #expect(try await !host.runIfLaunched())
        #expect(try queue.store.hosts.usage(of: "com.example.feed")?.lastUse != nil)
        // Of a host that is not known nothing is recorded.
        try queue.recordUse(ofHost: "com.example.other")
        #expect(try queue.store.hosts.usage(of: "com.example.other") == nil)

        try queue.add(host: "com.example.shown", HostSettings(argv: ["/bin/true"]))
        let attachment = try queue.attach(host: "com.example.shown")
        #expect(try queue.store.hosts.usage(of: "com.example.shown")?.lastUse != nil)
        withExtendedLifetime(attachment) {}
    }
}
