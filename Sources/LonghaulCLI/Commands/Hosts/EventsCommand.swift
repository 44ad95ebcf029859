import ArgumentParser
import Longhaul
import LonghaulPlatform

struct EventsCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "Read the event log, and acknowledge events.",
        discussion: """
            On a terminal a table, where * marks unacknowledged events; elsewhere, and with \
            --json, one JSON object per line. An acknowledged event is handed to no host any \
            more; it stays listed for a week.

              longhaul events --session photos --unacknowledged
              longhaul events --after 120 --follow | jq -c '[.seq, .type]'
              longhaul events --ack 131 --session photos
              longhaul events --ack-one 127

            With --attach the program that reads the lines is the host of the session while it \
            reads: tasks that are due and wake-ups come among them, and the results of tasks are \
            read from standard input, {"task":ID,"result":"success"}. A line with the type \
            "expiration" says that the time of a task is over.

            \(ExitStatus.help(endings))
            """)

    private static let endings: [ExitStatus] = [
        .done, .noSuchTransfer, .usage, .storeUnavailable, .interrupted,
    ]

    @Option(help: "Only events of this session.", completion: Candidates.sessions)
    var session: String?

    @Option(help: ArgumentHelp("Only events after this number.", valueName: "seq"))
    var after: Int64 = 0

    @Flag(help: "Print new events as they happen, until interrupted.")
    var follow = false

    @Flag(help: "Take the place of the session's host, whose lines are printed here.")
    var attach = false

    @Flag(help: "Only unacknowledged events.")
    var unacknowledged = false

    @Option(
        help: ArgumentHelp(
            "Acknowledge all up to this number, of --session or of all.", valueName: "seq"))
    var ack: Int64?

    @Option(help: ArgumentHelp("Acknowledge just this one (repeatable).", valueName: "seq"))
    var ackOne: [Int64] = []

    @OptionGroup var output: OutputOptions

    func validate() throws {
        let acknowledges = ack != nil || !ackOne.isEmpty
        if attach, !follow || session == nil {
            throw ValidationError("--attach needs --follow and --session")
        }
        if acknowledges, follow || unacknowledged || after != 0 {
            throw ValidationError("acknowledging and reading exclude each other")
        }
        if ack != nil, !ackOne.isEmpty {
            throw ValidationError("--ack and --ack-one exclude each other")
        }
    }

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue()
        if let ack {
            let count = try queue.acknowledge(through: ack, session: session)
            return try report(count, on: console)
        }
        if !ackOne.isEmpty {
            try queue.acknowledge(events: ackOne)
            return try report(ackOne.count, on: console)
        }
        if let session, !follow, try queue.session(session) == nil {
            throw LonghaulError.noSuchSession(session)
        }
        return try follow ? followOn(queue, console) : list(queue, console)
    }

    private func report(_ count: Int, on console: Console) throws -> ExitStatus {
        if console.isJSON {
            try console.line { json in json.object { $0.field("acknowledged", count) } }
        }
        return .done
    }

    /// Prints a page of events.
    private func printer(on console: Console) -> ([EventRecord]) throws -> Void {
        if console.isJSON || !console.isTerminal || attach {
            return { events in
                for event in events {
                    try console.line {
                        $0.value(event, as: attach ? EventRecord.fieldsForHost : EventRecord.fields)
                    }
                }
            }
        }
        var table = EventTable(terminal: .of(1), time: .current())
        return { events in
            if !events.isEmpty { for line in table.lines(events) { try console.line(line) } }
        }
    }

    private func list(_ queue: TransferQueue, _ console: Console) throws -> ExitStatus {
        let show = printer(on: console)
        var cursor = after
        while true {
            let page = try queue.events(
                after: cursor, session: session, waitingOnly: unacknowledged)
            try show(page)
            guard let last = page.last else { return .done }
            cursor = last.sequence
        }
    }

    private func hostName(_ queue: TransferQueue) throws -> String {
        let name = session ?? ""
        guard let found = try queue.session(name) else { throw LonghaulError.noSuchSession(name) }
        guard let host = found.settings.host else {
            throw LonghaulError(.noSuchHost, "session \(TerminalText.shown(name)) has no host")
        }
        return host
    }

    private func followOn(_ queue: TransferQueue, _ console: Console) throws -> ExitStatus {
        let host = try attach ? hostName(queue) : nil
        let attachment = try host.map { try queue.attach(host: $0) }
        let taker = try host.map { try AttachedHost(queue, host: $0) }
        defer {
            taker?.leave()
            withExtendedLifetime(attachment) {}
        }
        let follower = try queue.followEvents(
            after: after, session: session, waitingOnly: unacknowledged)
        let show = printer(on: console)
        Signals.watch()
        // A closed reader is noticed even while no events come.
        let isWatched = DetachedThread.begin(name: "longhaul-reader") {
            if CommandStream.waitForReaderToGo(1) { follower.cancel() }
        }
        if !isWatched { throw LonghaulError.noThread() }
        while true {
            let events = try follower.next(timeout: Limits.followPollSeconds) {
                () throws(LonghaulError) in try taker?.hasNews() ?? false
            }
            try taker?.printNews(on: console)
            try show(events)
            if Signals.received != nil { taker?.leave() }
            if let status = try console.flushBeforeWait() { return status }
        }
    }
}

extension LonghaulError {
    static func noSuchSession(_ name: String) -> LonghaulError {
        LonghaulError(.noSuchSession, "there is no session \(TerminalText.shown(name))")
    }
}
