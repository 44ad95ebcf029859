@testable import LonghaulCore
@testable import LonghaulModel

/// A transfer and a server that fails it again and again, in virtual time: when each request went
/// out, through any number of runs.
struct RepeatedRequests {
    /// What the server does with a request: the head of its answer, and the request's end.
    typealias Answer = (head: ResponseHead?, end: SegmentEnd)
    /// `nil` = the engine is killed while the request is out.
    typealias UploadServer = (_ exchange: UploadExchange, _ number: Int) -> Answer?
    typealias DownloadServer = (_ ask: SegmentAsk, _ number: Int) -> Answer

    private(set) var requests: [(what: String, at: Double)] = []
    /// When each run began.
    private(set) var runs: [Double] = []
    private(set) var end: StoreWrite?

    private let request: TransferRequest
    private let source: SourceVersion
    private let upload: UploadServer
    private let download: DownloadServer
    private var state = FetchState(id: FetchID(rawValue: 1))
    private var seconds = 0.0
    private var isKilled = false
    private var ends: [FetchEvent] = []
    /// What each request takes.
    private let latency = 0.002

    init(
        _ request: TransferRequest, size: Int64 = 0, for duration: Double,
        upload: @escaping UploadServer = { _, _ in preconditionFailure("a download") },
        download: @escaping DownloadServer = { _, _ in preconditionFailure("an upload") }
    ) {
        self.request = request
        self.upload = upload
        self.download = download
        source = SourceVersion(device: 1, inode: 2, size: size, modified: 3, changed: 4)
        while seconds < duration, end == nil, requests.count < 10_000 { run() }
    }

    func count(_ what: String, before moment: Double = .infinity) -> Int {
        requests.count { $0.what == what && $0.at < moment }
    }

    /// The shortest time from the beginning of a run to that of the next.
    var leastPause: Double {
        zip(runs, runs.dropFirst()).map { $1 - $0 }.min() ?? .infinity
    }

    // MARK: - A run

    private mutating func run() {
        runs.append(seconds)
        let machine = FetchMachine(
            transfer: TransferID(rawValue: 1), request: request, destination: "/d/f",
            deadline: nil, state: state, firstSerial: Int64(requests.count + 1))
        var events: [FetchEvent] = []
        var readyAt: Double?
        perform(machine.begin(), &events, &readyAt)
        while !events.isEmpty || !ends.isEmpty {
            // What the disk has to say of an answer comes before its end.
            let event = events.isEmpty ? ends.removeFirst() : events.removeFirst()
            perform(machine.handle(event, in: context), &events, &readyAt)
        }
        precondition(machine.stage == .left || isKilled, "the run came to a halt")
        isKilled = false
        ends = []
        state.attempts = requests.count
        seconds = readyAt ?? seconds
    }

    private var context: FetchContext {
        FetchContext(
            now: Moment(
                wall: Timestamp(milliseconds: Int64(seconds * 1000)),
                monotonic: Instant(nanoseconds: Int64(seconds * 1e9))),
            origin: OriginMemory(origin: "http://h:80"), connectionsAllowed: 1,
            seed: UInt64(requests.count))
    }

    private mutating func perform(
        _ step: FetchStep, _ events: inout [FetchEvent], _ readyAt: inout Double?
    ) {
        for write in step.writes {
            switch write {
            case .save(let saved): state = saved
            case .queued(_, let moment, _):
                readyAt = moment.map { Double($0.milliseconds) / 1000 } ?? seconds
            case .completed, .failed, .needsInput, .cancelled, .skipped: end = write
            case .lastError, .restarted, .attempt, .abandonUpload, .dropFetch, .give, .leave,
                .discard, .orphan, .forget, .learn, .originFailed, .originWorked,
                .saveOrigin:
                break
            }
        }
        for effect in step.effects {
            switch effect {
            case .openSource: events.append(.opened(source))
            case .prepare:
                events.append(
                    .prepared(
                        FileIdentity(device: 1, inode: 1), path: "/d/.f.1.longhaul-part",
                        created: state.partIdentity == nil))
            case .send(let ask):
                guard let answer = upload(ask.exchange, requests.count) else {
                    isKilled = true
                    (events, ends) = ([], [])
                    requests.append(("\(ask.exchange.purpose)", seconds))
                    continue
                }
                append("\(ask.exchange.purpose)", ask.key, answer, &events)
            case .ask(let ask):
                let answer = download(ask, requests.count)
                append(ask.ask.position == 0 ? "whole" : "rest", ask.key, answer, &events)
            case .sync(let token, _, _): events.append(.synced(token: token))
            case .truncate: events.append(.truncated)
            case .reserve: events.append(.reserved)
            case .secure: events.append(.secured)
            case .publish: events.append(.published(path: "/d/f"))
            case .proceed, .shrink, .stop, .release, .verify, .digest, .fill, .handOut, .close,
                .lookAtSource:
                break
            }
        }
    }

    private mutating func append(
        _ what: String, _ key: SegmentKey, _ answer: Answer, _ events: inout [FetchEvent]
    ) {
        requests.append((what, seconds))
        seconds += latency
        if let head = answer.head { events.append(.head(key, head)) }
        ends.append(.ended(key, answer.end))
    }
}
