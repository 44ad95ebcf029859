import Longhaul
import LonghaulCore
import Testing

@testable import LonghaulCLI

@Suite struct ProgressViewTests {
    private let row = ProgressView.Row(
        name: "debian-12.9.0-amd64-netinst.iso", done: 1_288_490_188, total: 2_791_728_742,
        rate: 11_848_909, secondsLeft: 127)
    private let totals = ProgressView.Totals(
        running: 3, waiting: 85, completed: 12, failed: 1, done: 4 << 30, total: 8 << 30,
        rate: 33_554_432)

    private func lines(_ view: ProgressView, _ columns: Int, unicode: Bool = true) -> [String] {
        view.lines(Sample.terminal(columns: columns, unicode: unicode))
    }

    /// Sizes are what servers say.
    @Test func sumsOfHugeSizesAreTheLargest() {
        let moving = (1...2).map {
            Sample.transfer($0, .running, done: .max - 1, total: .max, rate: 1)
        }
        let totals = ProgressView.Totals(moving: moving, pending: 2, bytesOfEnded: 5)
        #expect(totals.done == .max && totals.total == .max && totals.rate == 2)
        #expect(totals.running == 2 && totals.waiting == 0)
        let some = ProgressView.Totals(moving: moving, pending: 3, bytesOfEnded: 0)
        #expect(some.total == nil && some.waiting == 1)
    }

    @Test func aWideTerminalHasABar() {
        #expect(
            lines(ProgressView(rows: [row]), 120) == [
                "debian-12.9.0-amd64-netinst.iso                 "
                    + "[━━━━━━━━━━━━                ]  46%     1.2/2.6 GiB  11.3 MiB/s   2m07s"
            ])
    }

    @Test func withoutUnicodeTheBarIsASCII() {
        let line = lines(ProgressView(rows: [row]), 120, unicode: false)[0]
        #expect(line.contains("[============                ]"))
        #expect(line.utf8.allSatisfy { $0 < 0x80 })
    }

    @Test func narrowTerminalsKeepTheNameAndThePercent() {
        let view = ProgressView(rows: [row])
        #expect(
            lines(view, 80) == [
                "debian-12…inst.iso [━━━━━━━          ]  46%     1.2/2.6 GiB  11.3 MiB/s   2m07s"
            ])
        #expect(lines(view, 40) == ["debian-…st.iso  46%  11.3 MiB/s   2m07s"])
        #expect(lines(view, 20) == ["debian-…st.iso  46%"])
        #expect(lines(view, 8) == [" 46%"])
    }

    @Test func whatDoesNotMoveSaysWhy() {
        var waiting = row
        waiting.rate = nil
        waiting.note = "waits for retry in 12s"
        #expect(
            lines(ProgressView(rows: [waiting]), 80) == [
                "debian-12.9.0-amd64-netinst.iso          46% 1.2/2.6 GiB waits for retry in 12s"
            ])
    }

    @Test func anUnknownSizeHasNoPercent() {
        let unknown = ProgressView.Row(name: "stream", done: 5 << 20, rate: 1_048_576)
        let line = lines(ProgressView(rows: [unknown]), 100)[0]
        #expect(!line.contains("%"))
        #expect(line.contains("5.0 MiB") && line.contains("1.0 MiB/s"))
    }

    @Test func severalHaveATotal() {
        let view = ProgressView(rows: [row, row], totals: totals)
        #expect(
            lines(view, 100).last
                == "3 running, 85 waiting, 12 done, 1 failed  4.0/8.0 GiB  32.0 MiB/s  2m08s")
        #expect(lines(view, 100).count == 3)
    }

    @Test(arguments: [4, 6, 10, 24, 100])
    func moreRowsThanTheTerminalHasAreCountedOnly(_ terminalRows: Int) {
        let view = ProgressView(rows: Array(repeating: row, count: 500), totals: totals)
        let lines = view.lines(Sample.terminal(columns: 80, rows: terminalRows))
        #expect(lines.count < terminalRows)
        #expect(lines.count <= 17)
    }

    @Test(arguments: [1, 4, 8, 20, 29, 30, 35, 36, 40, 59, 60, 80, 81, 120, 200, 500])
    func noLineWraps(_ columns: Int) {
        var waiting = row
        waiting.note = "waits for a connection to its server (+3)"
        var wide = row
        wide.name = String(repeating: "读", count: 100)
        let view = ProgressView(rows: [row, waiting, wide], totals: totals)
        for line in lines(view, columns) {
            #expect(DisplayWidth.of(line) < max(columns, 1) || line.isEmpty, "'\(line)'")
        }
    }
}

@Suite struct ProgressDisplayTests {
    private func display(
        _ mode: ProgressDisplay.Mode, _ stream: ByteStream, count: Int = 1
    ) -> ProgressDisplay {
        ProgressDisplay(
            mode: mode, stream: stream, time: Sample.time, count: count,
            terminalFacts: { Sample.terminal(columns: 80) })
    }

    @Test func aRedrawGoesBackOverWhatItDrew() {
        let stream = ByteStream(descriptor: nil)
        let display = display(.live, stream)
        display.show([Sample.transfer(done: 10, total: 100, rate: 5)], nil)
        let first = stream.text
        #expect(!first.contains("\u{1B}[1A"))
        display.show([Sample.transfer(done: 20, total: 100, rate: 5)], nil)
        let second = stream.text.dropFirst(first.count)
        #expect(second.hasPrefix("\u{1B}[?7l\r\u{1B}[1A") && second.hasSuffix("\u{1B}[J\u{1B}[?7h"))
        #expect(second.contains("20%") && second.contains("\u{1B}[K\n"))
        display.clear()
        #expect(stream.text.hasSuffix("\u{1B}[?7l\r\u{1B}[1A\u{1B}[J\u{1B}[?7h"))
    }

    @Test func whatHasEndedStaysAboveWhatMoves() {
        let stream = ByteStream(descriptor: nil)
        let display = display(.live, stream, count: 2)
        display.ended(Sample.transfer(7, .completed, name: "a", done: 100), movingFor: nil)
        display.show([Sample.transfer(8, name: "b", done: 1, total: 100)], nil)
        #expect(stream.text.hasPrefix("\u{1B}[?7l7: completed: a, 100 B\u{1B}[K\nb"))
    }

    /// It is the engine itself that shows it.
    @Test func whatStandsInTheWayComesBeforeItsTurn() {
        let stream = ByteStream(descriptor: nil)
        let display = display(.plain, stream)
        var transfer = Sample.transfer(12, .waiting)
        transfer.waitingFor = [WaitReason(.engine), WaitReason(.power)]
        display.show([transfer], nil)
        #expect(stream.text == "12: 0 B, waits for external power\n")
        transfer.waitingFor = [WaitReason(.engine)]
        display.show([transfer], nil)
        #expect(stream.text.hasSuffix("12: 0 B, waits for an engine\n"))
    }

    @Test func withoutATerminalThereAreNoEscapes() {
        let stream = ByteStream(descriptor: nil)
        let display = display(.plain, stream)
        let transfer = Sample.transfer(done: 50, total: 100, rate: 10)
        display.began(transfer)
        #expect(!display.isDue(at: Instant(nanoseconds: 1000_000_000_000)))
        #expect(!display.isDue(at: Instant(nanoseconds: 1009_000_000_000)))
        #expect(display.isDue(at: Instant(nanoseconds: 1010_000_000_000)))
        #expect(!display.isDue(at: Instant(nanoseconds: 1018_000_000_000)))
        #expect(display.isDue(at: Instant(nanoseconds: 1020_000_000_000)))
        display.show([transfer], nil)
        var completed = transfer
        completed.state = .completed
        // It waited for most of the time.
        completed.startedAt = Sample.now
        completed.finishedAt = Sample.now + 3600
        completed.bytesDone = 100 << 20
        completed.bytesFetched = 100 << 20
        display.ended(completed, movingFor: 10)
        display.clear()
        #expect(
            stream.text == """
                12: https://example.com/debian-12.iso -> /home/me/Downloads/debian-12.iso
                12: 50%, 50/100 B, 10 B/s, 5s left
                12: completed: debian-12.iso, 100 MiB in 10s, 10.0 MiB/s

                """)
    }

    @Test func anUploadGoesFromItsFileToItsURL() {
        let stream = ByteStream(descriptor: nil)
        var transfer = Sample.transfer(name: "a")
        transfer.file = .source(transfer.path)
        display(.plain, stream).began(transfer)
        #expect(stream.text == "12: /home/me/Downloads/a -> https://example.com/a\n")
    }

    @Test func withoutATerminalEveryObstacleIsSaidOnce() {
        let stream = ByteStream(descriptor: nil)
        let display = display(.plain, stream, count: 2)
        var waiting = Sample.transfer(1, .waiting, name: "a")
        func look(_ reasons: WaitReason...) {
            waiting.waitingFor = reasons
            display.looked(at: [waiting])
        }
        look(WaitReason(.engine))
        look(WaitReason(.network))
        look(WaitReason(.network))
        look(WaitReason(.concurrency))
        look(WaitReason(.network), WaitReason(.power))
        display.looked(at: [Sample.transfer(1, .paused, name: "a")])
        display.looked(at: [Sample.transfer(1, .running, name: "a")])
        look(WaitReason(.network))
        display.show([waiting], ProgressView.Totals(running: 0, waiting: 2))
        display.show([], ProgressView.Totals(completed: 2))
        #expect(
            stream.text == """
                1: 0 B, waits for the network
                1: 0 B, waits for the network (+1)
                1: 0 B, paused
                1: 0 B, waits for the network
                0 running, 2 waiting, 0 done  0 B  0 B/s

                """)
    }

    @Test func whereALogGoesToTheTerminalNothingIsRedrawn() {
        func mode(_ level: String?, live: Bool = true, quiet: Bool = false) -> ProgressDisplay.Mode
        {
            ProgressDisplay.mode(
                isQuiet: quiet, terminal: TerminalFacts(isLive: live),
                environment: { $0 == "LONGHAUL_LOG" ? level : nil })
        }
        #expect(mode(nil) == .live && mode("") == .live && mode("OFF") == .live)
        #expect(mode("debug") == .plain && mode(nil, live: false) == .plain)
        #expect(mode("debug", quiet: true) == .silent)
    }

    @Test func ofThousandsOnlyFailuresLeaveALineOnATerminal() {
        let stream = ByteStream(descriptor: nil)
        let display = display(.live, stream, count: 10_000)
        display.ended(Sample.transfer(1, .completed, name: "good"), movingFor: nil)
        display.ended(Sample.transfer(2, .failed, name: "bad"), movingFor: nil)
        display.show([], ProgressView.Totals(completed: 1, failed: 1))
        #expect(!stream.text.contains("good"))
        #expect(stream.text.contains("2: failed: bad"))
    }

    @Test func quietIsQuiet() {
        let stream = ByteStream(descriptor: nil)
        let display = display(.silent, stream)
        display.began(Sample.transfer())
        display.show([Sample.transfer()], nil)
        display.ended(Sample.transfer(1, .failed), movingFor: nil)
        display.clear()
        #expect(!display.isDue(at: Instant(nanoseconds: 1000000_000_000_000)))
        #expect(stream.text.isEmpty)
    }
}
