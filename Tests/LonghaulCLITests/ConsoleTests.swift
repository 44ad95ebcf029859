import Glibc
import LonghaulCore
import Testing

@testable import Longhaul
@testable import LonghaulCLI

/// Swift Testing has one of that name too.
private typealias ExitStatus = LonghaulCLI.ExitStatus

@Suite struct ExitStatusTests {
    /// The table of the command line's contract.
    @Test(
        arguments: [
            (.noSuchTransfer, 4), (.conflict, 5), (.destinationExists, 5), (.permission, 5),
            (.invalidRequest, 64), (.unsupported, 64), (.storeUnavailable, 73), (.internal, 2),
            (.init(rawValue: "ofALaterVersion"), 2),
        ] as [(LonghaulError.Code, Int32)])
    func refusals(_ code: LonghaulError.Code, _ status: Int32) {
        #expect(ExitStatus(LonghaulError(code, "")).rawValue == status)
    }

    @Test func aReaderThatHasGoneIsNoFailure() {
        #expect(ExitStatus(Console.Closed() as any Error) == .done)
        #expect(ExitStatus(CancellationError() as any Error) == .internalError)
    }

    @Test func ofSeveralOutcomesTheFirstRefusalCounts() {
        let conflict = LonghaulError(.conflict, "")
        let unknown = LonghaulError(.noSuchTransfer, "")
        func outcomes(_ errors: LonghaulError?...) -> [ChangeOutcome] {
            errors.map { ChangeOutcome(id: TransferID(rawValue: 1), error: $0) }
        }
        #expect(ExitStatus(outcomes()) == .done)
        #expect(ExitStatus(outcomes(nil, nil)) == .done)
        #expect(ExitStatus(outcomes(nil, unknown, conflict)) == .noSuchTransfer)
        #expect(ExitStatus(outcomes(conflict, unknown)) == .refused)
    }

    @Test func waitingFailsWhenOneTransferDid() {
        func status(_ states: TransferState...) -> ExitStatus {
            ExitStatus(ended: states.map { Sample.transfer(1, $0) })
        }
        #expect(status() == .done)
        #expect(status(.completed, .completed) == .done)
        #expect(status(.completed, .failed) == .transferFailed)
        #expect(status(.cancelled) == .transferFailed)
    }

    @Test func helpNamesWhatACommandCanEndWith() {
        #expect(ExitStatus.help.contains("  130   interrupted"))
        #expect(ExitStatus.allCases.map(\.rawValue) == [0, 1, 2, 3, 4, 5, 64, 73, 130])
    }
}

@Suite struct ConsoleTests {
    @Test func whatWasRemovedIsNamedToPrograms() throws {
        let results = ByteStream(descriptor: nil)
        let console = Console(
            results: results, diagnostics: ByteStream(descriptor: nil), isJSON: true)
        try console.removed("h")
        #expect(
            String(decoding: results.buffer, as: UTF8.self)
                == #"{"id":"h","removed":true}"# + "\n")
    }

    @Test func whatCannotBeWrittenIsSaidAmongTheDiagnostics() throws {
        let full = open("/dev/full", O_WRONLY)
        defer { close(full) }
        let diagnostics = ByteStream(descriptor: nil)
        let console = Console(
            results: ByteStream(descriptor: full), diagnostics: diagnostics, isJSON: true)
        let status = console.run {
            try console.line { $0.object { $0.field("id", 1) } }
            return .done
        }
        #expect(status == .internalError)
        #expect(
            String(decoding: diagnostics.buffer, as: UTF8.self)
                .hasPrefix("longhaul: the output cannot be written: "))
    }

    @Test func errorsAreSentencesForPeople() throws {
        let console = Sample.console()
        try console.refuse(
            LonghaulError(
                .io, "bad \u{1B}[31m http://u:secret@h/?token=secret",
                transferID: TransferID(rawValue: 7)))
        #expect(
            console.diagnostics.text
                == "longhaul: 7: bad \\u{1B}[31m http://REDACTED@h/?token=REDACTED\n")
        #expect(console.results.text.isEmpty)
    }

    @Test func errorsAreObjectsForPrograms() throws {
        let console = Sample.console(json: true)
        try console.refuse(.usage("no"))
        #expect(
            console.results.text
                == #"{"error":{"code":"invalidRequest","message":"no"}}"# + "\n")
        #expect(console.diagnostics.text.isEmpty)
    }

    /// A program needs the path as it is.
    @Test func aPipeGetsPathsAsTheyAre() throws {
        let console = Console(
            results: ByteStream(descriptor: nil), diagnostics: ByteStream(descriptor: nil),
            isTerminal: false)
        try console.result(Sample.transfer(1, .completed, name: "a\nb\u{200C}\u{7}"))
        #expect(console.results.text == "/home/me/Downloads/a\nb\u{200C}\u{7}\n")
    }

    @Test func resultsTellWhereTheFileIsOrWhyThereIsNone() throws {
        let console = Sample.console()
        try console.result(Sample.transfer(1, .completed, name: "f\u{7}"))
        var failed = Sample.transfer(2, .failed)
        failed.error = LonghaulError(.timedOut, "too slow", bytesKept: 1024)
        try console.result(failed)
        try console.result(Sample.transfer(3, .cancelled))
        #expect(console.results.text == "/home/me/Downloads/f\\u{7}\n")
        #expect(
            console.diagnostics.text == """
                longhaul: 2: too slow
                longhaul: 2: 1.0 KiB are kept; resume with: longhaul retry 2
                longhaul: 3: cancelled

                """)
    }
}

@Suite struct TransferWatchTests {
    private let ids = (1...200).map { TransferID(rawValue: $0) }

    @Test func looksAtAFewAtATimeAndAtAllInTurn() {
        var watch = TransferWatch(ids)
        var looked: [TransferID] = []
        for _ in 0..<4 {
            _ = watch.refresh { ids in
                looked += ids
                return ids.map { Sample.transfer($0.rawValue, .waiting) }
            }
        }
        #expect(looked.count <= 4 * Limits.watchedPerRead)
        #expect(Set(looked) == Set(ids))
        #expect(!watch.isOver)
    }

    @Test func whatHasEndedIsFoundInOneLook() {
        var watch = TransferWatch(ids)
        var reads = 0
        let sight = watch.refresh { ids in
            reads += 1
            return ids.map { Sample.transfer($0.rawValue, .completed) }
        }
        #expect(sight.ended.count == 200 && watch.isOver && watch.ended.count == 200)
        #expect(reads == 4)
        let again = watch.refresh { ids in ids.map { Sample.transfer($0.rawValue, .failed) } }
        #expect(again.ended.isEmpty)
    }

    /// All but the third.
    private func read(_ ids: [TransferID], _ state: TransferState) -> [Transfer] {
        ids.filter { $0.rawValue != 3 }.map { Sample.transfer($0.rawValue, state) }
    }

    @Test func whatWasRemovedIsGoneAndKeepsNobodyWaiting() {
        var watch = TransferWatch(ids)
        _ = watch.refresh { read($0, .completed) }
        #expect(watch.isOver)
        #expect(watch.gone == [TransferID(rawValue: 3)])
        #expect(AwaitedTransfers.status(of: watch, []) == .noSuchTransfer)
    }

    /// Nobody reads or copies hundreds of numbers.
    @Test func whatToResumeIsNamed() {
        func command(_ count: Int, _ sessions: String...) -> String? {
            let transfers = (0..<Int64(count)).map { number in
                var transfer = Sample.transfer(number, .paused)
                transfer.session = sessions[Int(number) % sessions.count]
                return transfer
            }
            return AwaitedTransfers.resume(transfers)?.text
        }
        #expect(command(0, "s") == nil)
        #expect(command(3, "s") == "longhaul resume 0 1 2")
        #expect(command(1439, "default") == "longhaul resume --session default")
        #expect(command(1439, "my s") == "longhaul resume --session 'my s'")
        #expect(command(1439, "s", "t") == "longhaul resume --all")
    }

    @Test func aFailureSaysMoreThanThatSomethingIsGone() {
        var watch = TransferWatch(ids)
        _ = watch.refresh { read($0, .failed) }
        #expect(AwaitedTransfers.status(of: watch, []) == .transferFailed)
        var all = TransferWatch(ids)
        _ = all.refresh { ids in ids.map { Sample.transfer($0.rawValue, .completed) } }
        #expect(AwaitedTransfers.status(of: all, []) == .done)
        let exists = EnqueueOutcome.refused(LonghaulError(.destinationExists, "it exists"))
        #expect(AwaitedTransfers.status(of: all, [exists]) == .refused)
        #expect(AwaitedTransfers.status(of: watch, [exists]) == .transferFailed)
    }
}

@Suite struct TextTests {
    @Test(
        arguments: [
            (0, "12:00", "now"), (3600, "13:00", "in 1h00m"), (-90, "11:58", "1m30s ago"),
            (86_400 * 40, "2026-04-10 12:00", "in 40d0h"),
        ] as [(Double, String, String)])
    func moments(_ seconds: Double, _ short: String, _ distance: String) {
        let moment = Sample.now + seconds
        #expect(Sample.time.short(moment) == short)
        #expect(Sample.time.distance(moment) == distance)
    }

    @Test func localTimeIsShown() {
        let east = TimeText(now: Sample.now) { _ in 5 * 3600 + 45 * 60 }
        #expect(east.full(Sample.now) == "2026-03-01 17:45:00")
    }

    @Test(arguments: WaitReason.Reason.allCases)
    func everyReasonHasWords(_ reason: WaitReason.Reason) {
        let wait = WaitText(time: Sample.time)
        let bare = wait.short([WaitReason(reason)])
        #expect(!bare.isEmpty)
        let known = wait.long(
            WaitReason(
                reason, required: "R\u{7}", current: "C", since: Sample.now,
                nextCheck: Sample.now + 60))
        #expect(known.contains("required: R\\u{7}; now: C; since 2026-03-01 12:00:00"))
        #expect(known.hasSuffix("next look in 1m00s"))
        let due = wait.long(WaitReason(reason, nextCheck: Sample.now + -90))
        #expect(due.hasSuffix("next look now") && !due.contains("ago"))
    }

    @Test func statusSaysWhatToDoWithoutAnEngine() {
        let status = QueueStatus(
            engine: nil, counts: [.waiting: 1200, .failed: 1], bytesPerSecond: 0, nextWake: nil)
        #expect(
            Status.lines(status, time: Sample.time) == [
                "Engine:     none runs; `longhaul run` or `longhaul daemon` starts one",
                "Transfers:  1,200 waiting, 1 failed", "Rate:       0 B/s",
            ])
    }

    @Test func terminalFactsComeFromTheSurroundings() {
        func facts(_ environment: [String: String]) -> TerminalFacts {
            TerminalFacts.of(-1) { environment[$0] }
        }
        #expect(facts([:]) == TerminalFacts())
        #expect(facts(["COLUMNS": "33"]).columns == 33)
        #expect(facts(["COLUMNS": "0"]).columns == nil)
        #expect(facts(["LANG": "de_DE.UTF-8"]).hasUnicode)
        #expect(!facts(["LANG": "de_DE.UTF-8", "LC_ALL": "C"]).hasUnicode)
        #expect(facts(["LC_ALL": "", "LC_CTYPE": "C.utf8"]).hasUnicode)
    }
}

@Suite struct DoctorStatusTests {
    @Test(
        arguments: [
            ("store", 73), ("integrity", 73), ("rows", 73), ("configuration", 0), ("libcurl", 0),
        ] as [(String, Int32)])
    func whatIsNotWellDecides(check: String, status: Int32) {
        let well = DoctorFinding(check: check, ok: true, detail: "fine", fix: nil)
        let bad = DoctorFinding(check: check, ok: false, detail: "not so", fix: nil)
        #expect(Doctor.status([well]) == .done)
        #expect(Doctor.status([well, bad, well]).rawValue == status)
    }
}
