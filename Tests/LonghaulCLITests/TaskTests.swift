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

    @Test func aWakeUpHasConditions() throws {
        var wanted = WakeUp(expiresAt: Sample.now)
        wanted.requires.mounts = ["backup"]
        wanted.prefers = ConditionNeeds(idle: true)
        #expect(
            try wakeUp("--require", "mounted=backup", "--prefer", "idle", "--expires", "0")
                == wanted)
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
}
