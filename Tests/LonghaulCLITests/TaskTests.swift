import ArgumentParser
import LonghaulCore
import Testing

@testable import Longhaul
@testable import LonghaulCLI

/// `task submit` and `wake` as they are typed.
@Suite struct TaskParsingTests {
    private func request(_ arguments: String...) throws -> TaskRequest {
        let parsed = try LonghaulCommand.parseAsRoot(["task", "submit", "clean"] + arguments)
        return try #require(parsed as? TaskSubmit).request(Sample.context())
    }

    private func wakeUp(_ arguments: String...) throws -> WakeUp {
        let parsed = try LonghaulCommand.parseAsRoot(["wake", "h"] + arguments)
        return try #require(parsed as? Wake).wakeUp(Sample.context())
    }

    @Test func withoutOptionsTheDefaultsAreAsked() throws {
        #expect(try request() == TaskRequest(identifier: "clean"))
        #expect(try wakeUp() == WakeUp())
    }

    @Test func everyOptionReachesTheRequest() throws {
        var wanted = TaskRequest(identifier: "clean", kind: .processing, host: "h")
        wanted.earliestBegin = Sample.now + 900
        wanted.requirements = ConditionNeeds(power: true, network: true, battery: 50)
        wanted.repetition = TaskRepetition(interval: 3600, tolerance: 600)
        wanted.payload = #"{"a":[1]}"#
        wanted.returnsAfterExpiration = false
        #expect(
            try request(
                "--kind", "processing", "--host", "h", "--earliest", "+15m", "--require",
                "power,network", "--require", "battery=50", "--every", "1h", "--tolerance", "10m",
                "--payload", "{ \"a\" : [1] }", "--when-lost", "drop") == wanted)
        #expect(
            try wakeUp(
                "--identifier", "mail", "--payload", "[ 1 ]", "--urgent", "--expires", "10m")
                == WakeUp(
                    identifier: "mail", payload: "[1]", isUrgent: true,
                    expiresAt: Sample.now + 600))
    }

    @Test func triggersAreAList() throws {
        let triggers = try request("--on", "online,resume", "--on", "network-change,online")
            .triggers
        #expect(triggers == [.online, .resume, .networkChange])
    }

    @Test(
        arguments: [
            ("again", true, true), ("continue", false, false), ("drop", true, false),
        ] as [(String, Bool, Bool)])
    func whatALostRequirementDoes(word: String, expires: Bool, returns: Bool) throws {
        let request = try request("--when-lost", word)
        #expect(request.expiresWhenRequirementIsLost == expires)
        #expect(request.returnsAfterExpiration == returns)
    }
}

/// Requests and runs, for people.
@Suite struct TaskTextTests {
    private func task(_ change: (inout TaskRecord) -> Void = { _ in }) -> TaskRecord {
        var task = TaskRecord(
            request: TaskRequest(identifier: "clean", kind: .processing, host: "h"),
            state: .waiting, submittedAt: Sample.now, forecast: Forecast(text: ""))
        change(&task)
        return task
    }

    private let text = TaskText(time: Sample.time)

    @Test func whatWasSubmittedSaysWhenItBegins() {
        #expect(text.submitted(task()) == "clean (h): it begins now")
        let power = task { $0.waitingFor = [WaitReason(.power, required: "external")] }
        #expect(text.submitted(power) == "clean (h): it begins when these are met: power")
        let later = task {
            $0.waitingFor = [WaitReason(.earliestBegin, nextCheck: Sample.now + 3600)]
        }
        #expect(text.submitted(later) == "clean (h): it begins at 13:00")
        let standing = task {
            $0.request.triggers = [.online, .boot]
            $0.waitingFor = [WaitReason(.trigger)]
        }
        #expect(
            text.submitted(standing)
                == "clean (h): it begins when one of these happens: online, boot")
    }

    @Test func aTableOfAll() {
        let running = task {
            $0.request.identifier = "refresh"
            $0.request.kind = .refresh
            $0.state = .running
        }
        let waiting = task { $0.waitingFor = [WaitReason(.power), WaitReason(.engine)] }
        let lines = text.table([waiting, running], Sample.terminal(columns: 80))
        #expect(
            lines == [
                "TASK     HOST  KIND        STATE    WAITS FOR",
                "clean    h     processing  waiting  external power (+1)",
                "refresh  h     refresh     running",
            ])
        #expect(text.table([], Sample.terminal(columns: 80)).count == 1)
        #expect(
            text.table([waiting], Sample.terminal(columns: 35))[1]
                == "clean h    waiting external…er (+1)")
    }

    @Test func everythingAboutOne() {
        let task = task {
            $0.request.repetition = TaskRepetition(interval: 7 * 86_400)
            $0.request.requirements = ConditionNeeds(power: true)
            $0.request.returnsAfterExpiration = false
            $0.request.payload = #"{"a":1}"#
            $0.request.earliestBegin = Sample.now + 60
            $0.failures = 2
            $0.emptyRuns = 1
            $0.waitingFor = [WaitReason(.power, required: "external", current: "battery")]
            $0.runs = [
                TaskRun(launch: 3, startedAt: Sample.now),
                TaskRun(
                    launch: 2, startedAt: Sample.now + -60, endedAt: Sample.now,
                    expiration: .requirement),
                TaskRun(
                    launch: 1, triggers: [.boot, .mount], startedAt: Sample.now + -120,
                    endedAt: Sample.now, result: .noData),
            ]
        }
        #expect(
            text.lines(task) == [
                "task       clean", "host       h", "state      waiting", "kind       processing",
                "submitted  2026-03-01 12:00:00", "earliest   2026-03-01 12:01:00",
                "every      7d0h, up to 3d12h earlier",
                "requires   power; is dropped when it is lost", #"payload    {"a":1}"#,
                "failures   2 in a row", "no data    1 run in a row; every 7d0h until one succeeds",
                "waits for  external power; required: external; now: battery",
                "forecast   it begins when these are met: power",
                "launch 3: 2026-03-01 12:00:00: runs",
                "launch 2: 2026-03-01 11:59:00: ended because a requirement was lost",
                "launch 1: 2026-03-01 11:58:00, on boot and mount: noData",
            ])
    }

    @Test func oneThatIsDoneHasItsRunsAlone() {
        let done = task {
            $0.state = .done
            $0.runs = [
                TaskRun(
                    launch: 1, startedAt: Sample.now, endedAt: Sample.now, result: .success)
            ]
        }
        #expect(
            text.lines(done) == [
                "task       clean", "host       h", "state      done",
                "forecast   it is done", "launch 1: 2026-03-01 12:00:00: success",
            ])
    }

    @Test func programsGetAllKeys() {
        var json = JSONText()
        json.task(
            task {
                $0.runs = [TaskRun(launch: 1, startedAt: Sample.now)]
                $0.waitingFor = [WaitReason(.trigger, required: "online")]
                $0.request.triggers = [.online]
            })
        #expect(
            String(decoding: json.bytes, as: UTF8.self) == """
                {"identifier":"clean","kind":"processing","host":"h","state":"waiting",\
                "submittedAt":"2026-03-01T12:00:00.000Z","earliestBegin":null,"require":[],\
                "whenLost":"again","every":null,"tolerance":null,"on":["online"],"payload":null,\
                "failures":0,"noData":0,"waitingFor":[{"reason":"trigger","required":"online",\
                "current":null,"since":null,"nextCheck":null}],"forecast":{"startsAt":null,\
                "endsAt":null,"text":""},"runs":[{"launch":1,"trigger":null,"triggers":[],\
                "startedAt":"2026-03-01T12:00:00.000Z","endedAt":null,"result":null,\
                "expiration":null,"exitStatus":null}]}
                """)
    }
}
