import LonghaulCore
import Testing

/// What a notice says.
@Suite struct NoticeTableTests {
    struct Row: Sendable {
        var ends: [TransferState: Int]
        var title: String?
        var text = ""
        var event = Notice.Event.completed
    }

    private static let failure = LonghaulError(.notFound, "the server has no such file (404)")

    @Test(arguments: [
        Row(ends: [.completed: 3], title: "3 transfers completed"),
        Row(ends: [.completed: 1], title: "1 transfer completed"),
        Row(
            ends: [.completed: 2, .failed: 1], title: "3 transfers failed",
            text: "2 completed, 1 failed\nthe server has no such file (404)", event: .failed),
        Row(
            ends: [.failed: 2], title: "2 transfers failed",
            text: "2 failed\nthe server has no such file (404)", event: .failed),
        Row(
            ends: [.completed: 2, .cancelled: 4], title: "6 transfers completed",
            text: "2 completed, 4 cancelled"),
        // A user has ended them.
        Row(ends: [.cancelled: 4], title: nil),
        Row(ends: [:], title: nil),
    ])
    func aBatchSaysHowItsTransfersHaveEnded(_ row: Row) {
        let notice = Notice(
            batch: "7", nil, row.ends, failure: row.event == .failed ? Self.failure : nil)
        #expect(notice?.title == row.title)
        #expect(notice?.text ?? "" == row.text)
        #expect(notice?.event ?? row.event == row.event)
    }

    @Test func aSessionHasItsName() {
        let notice = Notice(batch: "photos", "photos", [.completed: 2], failure: nil)
        #expect(notice?.title == "photos completed")
        #expect(notice?.environment["LONGHAUL_ID"] == "photos")
    }

    @Test func aJobSaysHowItHasFailed() {
        let failed = Notice(job: "backup", failure: "exit status 3\nno space")
        #expect(failed.title == "backup failed" && failed.text == "exit status 3\nno space")
        #expect(failed.environment["LONGHAUL_ID"] == "backup")
        let done = Notice(job: "backup", failure: nil)
        #expect(done.title == "backup completed" && done.text.isEmpty)
    }

    @Test func aTaskSaysItsHost() {
        let notice = Notice(expired: "clean", of: "com.example.photos", .processor)
        #expect(notice.title == "clean has used up its time")
        #expect(
            notice.text
                == "ended because it used a processor for too long (host com.example.photos)")
    }

    /// Of which ends a host, a job that runs once and one that comes again notify.
    @Test(
        arguments: [
            (.result(.success), false, true, false), (.result(.noData), false, true, false),
            (.result(.failure), false, true, true), (.result(.deferred), false, false, false),
            (.expired(.time), true, true, true), (.expired(.processor), true, true, true),
            (.expired(.progress), true, true, true), (.expired(.simulated), true, true, true),
            (.expired(.requirement), false, false, false),
            (.expired(.cancelled), false, false, false), (.lost, false, false, false),
        ] as [(TaskEnd, Bool, Bool, Bool)])
    func anEndIsNotified(_ end: TaskEnd, ofHost: Bool, ofOnce: Bool, ofRepeated: Bool) {
        func isNotified(isJob: Bool, isOnce: Bool = false, notifies: Bool = true) -> Bool {
            var job = JobSettings(directory: "/", environment: [:])
            job.isOnce = isOnce
            job.notifies = notifies
            var host = HostSettings(argv: ["/h"])
            host.notifies = notifies
            return end.isNotified(of: isJob ? .job(argv: ["/j"], job) : .host(host))
        }
        #expect(isNotified(isJob: false) == ofHost)
        #expect(isNotified(isJob: true, isOnce: true) == ofOnce)
        #expect(isNotified(isJob: true) == ofRepeated)
        #expect(!isNotified(isJob: false, notifies: false))
        #expect(!isNotified(isJob: true, isOnce: true, notifies: false))
    }

    /// A command may rely on each variable.
    @Test(arguments: Notice.Event.allCases)
    func allVariablesAreSet(event: Notice.Event) {
        let notice = Notice(event, id: "1", name: "a b")
        #expect(notice.environment.count == 8)
        #expect(notice.environment["LONGHAUL_EVENT"] == event.rawValue)
        #expect(notice.environment["LONGHAUL_ERROR"] == "")
        #expect(notice.title.hasPrefix("a b ") && !notice.title.contains("\n"))
    }
}
