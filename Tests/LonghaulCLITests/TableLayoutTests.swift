import LonghaulCore
import Testing

@testable import Longhaul
@testable import LonghaulCLI

@Suite struct TableLayoutTests {
    static let transfers: [Transfer] = {
        var waiting = Sample.transfer(3, .waiting, name: "a.tar.gz")
        waiting.waitingFor = [
            WaitReason(.backoff, nextCheck: Sample.now + 12), WaitReason(.concurrency),
        ]
        var failed = Sample.transfer(14, .failed, name: "x", done: 1 << 20, total: 1 << 21)
        failed.error = LonghaulError(.notFound, "gone", httpStatus: 404)
        return [
            Sample.transfer(
                1250, done: 1_288_490_188, total: 2_791_728_742, rate: 11_848_909),
            failed, waiting,
            Sample.transfer(2, .completed, name: "读我.txt", done: 512, total: 512),
        ]
    }()

    private func table(_ columns: Int?, unicode: Bool = true) -> [String] {
        var table = TransferTable(
            terminal: Sample.terminal(columns: columns, unicode: unicode), time: Sample.time,
            home: "/home/me")
        return table.lines(Self.transfers, isFirstPage: true)
    }

    @Test func aWideTerminalShowsEverything() {
        #expect(
            table(200) == [
                "  ID  STATE      DONE     SIZE  RATE/WAITS FOR     DESTINATION",
                "1250  running     46%  2.6 GiB  11.3 MiB/s, 2m07s  ~/Downloads/debian-12.iso",
                "  14  failed      50%  2.0 MiB  not found (404)    ~/Downloads/x",
                "   3  waiting       -           retry in 12s (+1)  ~/Downloads/a.tar.gz",
                "   2  completed  100%    512 B                     ~/Downloads/读我.txt",
            ])
    }

    @Test func eightyColumnsShortenTheMiddle() {
        #expect(
            table(72) == [
                "  ID  STATE      DONE     SIZE  RATE/WAITS FOR     DESTINATION",
                "1250  running     46%  2.6 GiB  11.3 MiB/s, 2m07s  ~/Download…ian-12.iso",
                "  14  failed      50%  2.0 MiB  not found (404)    ~/Downloads/x",
                "   3  waiting       -           retry in 12s (+1)  ~/Downloads/a.tar.gz",
                "   2  completed  100%    512 B                     ~/Downloads/读我.txt",
            ])
    }

    /// The cause is at the beginning of the cell, without libcurl's own words.
    @Test(arguments: [
        ("no connection could be made (Couldn't connect (7))", "no connection could be made"),
        ("the server failed (503); wait", "the server failed (503)"),
        ("the server gave up waiting", "the server gave up waiting"),
    ]) func aWaitHasItsCause(message: String, shown: String) {
        var waiting = Sample.transfer(3, .waiting, name: "a.tar.gz")
        waiting.waitingFor = [WaitReason(.backoff, nextCheck: Sample.now + 12)]
        waiting.error = LonghaulError(.network, message)
        for columns in [nil, 80] {
            var table = TransferTable(
                terminal: Sample.terminal(columns: columns), time: Sample.time, home: "/home/me")
            let line = table.lines([waiting], isFirstPage: false)[0]
            let cell = "retry in 12s: \(shown)"
            #expect(line.contains(columns == nil ? cell + " " : String(cell.prefix(25))), "\(line)")
        }
        var held = waiting
        held.waitingFor = [WaitReason(.power)]
        var table = TransferTable(
            terminal: Sample.terminal(columns: nil), time: Sample.time, home: nil)
        let line = table.lines([held], isFirstPage: false)[0]
        #expect(line.contains("external power, last error: \(shown) "), "\(line)")
    }

    @Test func fortyColumnsLeaveOutWhatMattersLeast() {
        #expect(
            table(40) == [
                "  ID STATE     DONE DESTINATION",
                "1250 running    46% ~/Download…an-12.iso",
                "  14 failed     50% ~/Downloads/x",
                "   3 waiting      - ~/Downloads/a.tar.gz",
                "   2 completed 100% ~/Downloads/读我.txt",
            ])
    }

    @Test func twentyColumnsKeepTheId() {
        #expect(
            table(20) == [
                "  ID STATE     DONE", "1250 running    46%", "  14 failed     50%",
                "   3 waiting      -", "   2 completed 100%",
            ])
    }

    @Test(arguments: [1, 5, 9, 14, 15, 16, 20, 33, 40, 59, 60, 79, 80, 81, 120, 200])
    func noLineIsWiderThanTheTerminal(_ columns: Int) {
        for unicode in [true, false] {
            for line in table(columns, unicode: unicode) {
                #expect(DisplayWidth.of(line) <= columns, "'\(line)'")
            }
        }
    }

    @Test func aPipeGetsWholeNames() {
        let long = String(repeating: "n", count: 300)
        var table = TransferTable(
            terminal: Sample.terminal(columns: nil), time: Sample.time, home: nil)
        let lines = table.lines([Sample.transfer(name: long)], isFirstPage: true)
        #expect(lines[1].hasSuffix("/home/me/Downloads/" + long))
    }

    @Test(arguments: [
        ("debian-12.iso", false), ("x", false), ("读我.txt", false), ("download", true),
        ("download (1).bin", true), ("index.html", true), ("latest.tar.gz", true),
        ("20240101.zip", true), ("0123456789abcdef0123456789abcdef.bin", true),
    ])
    func theURLIsShownWhereTheNameSaysNothing(_ name: String, _ isShown: Bool) {
        var table = TransferTable(
            terminal: Sample.terminal(columns: nil), time: Sample.time, home: "/home/me")
        let line = table.lines([Sample.transfer(name: name)], isFirstPage: false)[0]
        let url = isShown ? " ← https://example.com/" + name : ""
        #expect(line.hasSuffix("  ~/Downloads/" + name + url))
    }

    @Test func aLongListHasAllInFull() {
        var table = TransferTable(
            terminal: Sample.terminal(columns: 40), time: Sample.time, home: "/home/me",
            isLong: true)
        let lines = table.lines([Self.transfers[0]], isFirstPage: true)
        #expect(
            lines == [
                "  ID  STATE    DONE     SIZE  RATE/WAITS FOR     SESSION  PRIORITY  "
                    + "DESTINATION                URL",
                "1250  running   46%  2.6 GiB  11.3 MiB/s, 2m07s  default  normal    "
                    + "~/Downloads/debian-12.iso  https://example.com/debian-12.iso",
            ])
    }

    @Test func laterPagesKeepTheWidths() {
        var table = TransferTable(
            terminal: Sample.terminal(columns: nil), time: Sample.time, home: nil)
        let first = table.lines([Sample.transfer(1_000_000, .paused)], isFirstPage: true)
        let second = table.lines([Sample.transfer(1, .paused)], isFirstPage: false)
        #expect(second == ["      1" + first[1].dropFirst(7)])
    }

    @Test func coloursGoRoundTheLineAndNotIntoIt() {
        var table = TransferTable(
            terminal: Sample.terminal(columns: 80, colour: true), time: Sample.time, home: nil)
        let lines = table.lines([Self.transfers[1]], isFirstPage: true)
        #expect(lines[0].hasPrefix("\u{1B}[1m"))
        #expect(lines[1].hasPrefix("\u{1B}[31m") && lines[1].hasSuffix("\u{1B}[0m"))
    }

    @Test func showSaysWhatWasAskedFor() {
        let text = TransferText(time: Sample.time, terminal: Sample.terminal(columns: nil))
        func lines(_ change: (inout TransferOptions) -> Void) -> [String] {
            var transfer = Sample.transfer()
            change(&transfer.options)
            let usual = text.lines(Sample.transfer(), attempts: [], events: [])
            return text.lines(transfer, attempts: [], events: []).filter { !usual.contains($0) }
        }
        #expect(lines { _ in }.isEmpty)
        let all = lines {
            $0.headers = HeaderFields([.init(name: "Cookie", value: "secret")])
            $0.user = "me:secret"
            $0.netrc = true
            $0.proxy = "http://me:secret@proxy:3128"
            $0.caCertificate = "/ca"
            $0.clientCertificate = "/cert"
            $0.clientKey = "/key"
            $0.insecure = true
            $0.mirrors = ["https://me:secret@b/f"]
            $0.ifExists = .rename
            $0.onDuplicate = .separate
            $0.reuse = true
            $0.limitRate = 10_240
            $0.yields = false
            $0.connections = .exactly(3)
            $0.maxSize = 1 << 20
            $0.retries = 2
            $0.remoteName = true
        }
        #expect(
            all == [
                "Header:        Cookie", "User:          given", "Netrc:         yes",
                "Proxy:         http://REDACTED@proxy:3128", "Authorities:   /ca",
                "Certificate:   /cert", "Key:           /key", "Insecure:      yes",
                "Mirror:        https://REDACTED@b/f", "If it exists:  rename",
                "On duplicate:  separate", "Reuse:         yes", "Rate limit:    10.0 KiB/s",
                "Yields:        off", "Connections:   3", "Largest size:  1.0 MiB",
                "Retries:       2", "Remote name:   yes",
            ])
    }

    @Test func nothingFromOutsideReachesTheTerminal() {
        var hostile = Sample.transfer(name: "a\u{1B}]0;owned\u{07}\u{202E}b\nc")
        hostile.state = .failed
        hostile.error = LonghaulError(.io, "\u{1B}[2J")
        var table = TransferTable(
            terminal: Sample.terminal(columns: nil), time: Sample.time, home: nil)
        let list = table.lines([hostile], isFirstPage: true).joined()
        let show = TransferText(time: Sample.time, terminal: Sample.terminal(columns: nil))
            .lines(hostile, attempts: [], events: []).joined()
        for text in [list, show] {
            let controls = text.unicodeScalars.filter { $0.value < 0x20 || $0.value == 0x202E }
            #expect(controls.isEmpty)
            #expect(text.contains("a\\u{1B}]0;owned\\u{7}\\u{202E}b\\u{A}c"))
        }
    }
}

@Suite struct DisplayWidthTests {
    @Test(arguments: [
        ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("读我", 4), ("👍", 2), ("❤\u{FE0F}", 2),
        ("ｱ", 1), ("한글", 4), ("a\u{200B}b", 2),
        // A flag, half of one, a family, a skin, a keycap.
        ("🇩🇪", 2), ("🇩", 1), ("👨‍👩‍👧", 2), ("👍🏽", 2), ("1\u{FE0F}\u{20E3}", 2),
        ("⌚⏩⏰⏳◽☔♈♓⚓⚡⚪⚽⛄⛎⛔⛪⛲⛵⛺⛽", 40),
        ("✅✊✨❌❎❓❗➕➰➿⬛⭐⭕🀄🃏🆎🆑🚀🟠🟫🤖", 42),
        // The same as text: one column each.
        ("☀✂🌡🕊", 4),
    ])
    func countsColumns(_ text: String, _ width: Int) {
        #expect(DisplayWidth.of(text) == width)
    }

    @Test(arguments: [
        ("debian-12.iso", 13, "debian-12.iso"), ("debian-12.iso", 12, "debian…2.iso"),
        ("debian-12.iso", 5, "de…so"), ("debian-12.iso", 2, "de"), ("debian-12.iso", 0, ""),
        ("读我读我读我", 7, "读我…我"), ("读我读我读我", 6, "读…我"),
    ])
    func leavesOutTheMiddle(_ text: String, _ width: Int, _ shortened: String) {
        let result = DisplayWidth.shortened(text, to: width, ellipsis: "…")
        #expect(DisplayWidth.of(result) <= width)
        #expect(result == shortened)
    }
}

@Suite struct UnitsTests {
    @Test(
        arguments: [
            (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"),
            (102_348, "99.9 KiB"),
            (102_400, "100 KiB"), (1_048_063, "1023 KiB"), (1_048_064, "1.0 MiB"),
            (2_791_728_742, "2.6 GiB"), (Int64.max, "8.0 EiB"), (-5, "0 B"),
        ] as [(Int64, String)])
    func sizes(_ bytes: Int64, _ text: String) {
        #expect(Units.size(bytes) == text)
    }

    @Test(
        arguments: [
            (0, "0s"), (59.4, "59s"), (60, "1m00s"), (130, "2m10s"), (3599.6, "1h00m"),
            (11_100, "3h05m"),
            (187_200, "2d4h"), (.infinity, "?"), (.nan, "?"),
        ] as [(Double, String)])
    func durations(_ seconds: Double, _ text: String) {
        #expect(Units.duration(seconds) == text)
    }

    @Test(
        arguments: [
            (0, 100, "0%"), (999_999, 1_000_000, "99%"), (100, 100, "100%"), (0, 0, "100%"),
            (200, 100, "100%"), (5, nil, "?"),
        ] as [(Int64, Int64?, String)])
    func percentsReachAHundredOnlyAtTheEnd(_ done: Int64, _ total: Int64?, _ text: String) {
        #expect(Units.percent(done, of: total) == text)
    }

    @Test(
        arguments: [
            (1_288_490_188, 2_791_728_742, "1.2/2.6 GiB"), (1 << 20, 1 << 30, "1.0 MiB/1.0 GiB"),
            (1 << 20, nil, "1.0 MiB"),
        ] as [(Int64, Int64?, String)])
    func progressNamesACommonUnitOnce(_ done: Int64, _ total: Int64?, _ text: String) {
        #expect(Units.progress(done, of: total) == text)
    }

    @Test(arguments: [
        (0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567"), (-1000, "-1,000"),
    ])
    func counts(_ number: Int, _ text: String) {
        #expect(Units.count(number) == text)
    }
}

/// Events on a terminal.
@Suite struct EventTableTests {
    @Test func waitingEventsAreMarked() {
        var table = EventTable(terminal: Sample.terminal(columns: 100), time: Sample.time)
        let first = EventRecord(
            sequence: 9, at: Sample.now, session: "photos", type: "transferCompleted",
            transferID: TransferID(rawValue: 3), acknowledgedAt: Sample.now,
            path: "/srv/a\u{1B}.jpg")
        let second = EventRecord(
            sequence: 10, at: Sample.now, session: "photos", type: "sessionFinished")
        #expect(
            table.lines([first, second]) == [
                "SEQ  WHEN                 EVENT              TRANSFER  SESSION  FILE",
                " 9   2026-03-01 12:00:00  transferCompleted         3  photos   /srv/a\\u{1B}.jpg",
                "10*  2026-03-01 12:00:00  sessionFinished           -  photos",
            ])
        // A later page has no titles.
        #expect(table.lines([second]).count == 1)
    }

    @Test func aNarrowTerminalKeepsWhatMatters() {
        var table = EventTable(terminal: Sample.terminal(columns: 30), time: Sample.time)
        let event = EventRecord(
            sequence: 9, at: Sample.now, session: "photos", type: "transferCompleted",
            transferID: TransferID(rawValue: 3), path: "/srv/a.jpg")
        #expect(table.lines([event]).allSatisfy { $0.count <= 30 && !$0.contains("photos") })
    }
}
