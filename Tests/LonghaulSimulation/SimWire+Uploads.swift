import LonghaulCore
import LonghaulSimulatedWire

/// A body on its way to a server.
struct SimSending {
    let inode: UInt64
    /// `nil` = it has no file in it.
    let content: UploadBody.Content
    var intake: SimIntake?
    /// Bytes that libcurl has taken, and those of them that the server has.
    var taken: Int64 = 0
    var arrived: Int64 = 0
    /// The body of the answer.
    var answer: [UInt8] = []
    /// The server has the whole request, and no answer to it has come.
    var isUnanswered = false

    init(_ request: SegmentRequest, _ body: UploadBody) {
        inode = UInt64(max(0, request.target.descriptor))
        content = body.content ?? UploadBody.Content()
    }

    var length: Int64 { content.length }
}

/// How uploads go out, and what comes back.
extension SimWire {
    /// The request has reached its server.
    func answerUpload(_ key: SegmentKey) {
        guard let exchange = requests[key], let body = exchange.request.upload else { return }
        answered += 1
        requests[key]?.touched = now.monotonic
        if random.happens(trouble.refused) {
            return end(key, .curl(code: 7, text: "refused", osError: 111))
        }
        if random.happens(trouble.stall / 2) { return fallSilent(key) }
        if random.happens(trouble.busy) {
            let head = busy(exchange)
            takeBeforeRefusal(key, body)
            return tell(key, head, [])
        }
        let text = body.content.map { $0.before + $0.after } ?? []
        let request = SimUploadRequest(
            method: body.method, url: exchange.url, headers: exchange.request.headers,
            length: body.content?.length ?? 0, text: text, fetch: key.fetch)
        switch servers.begin(request) {
        case .answer(let answer):
            if random.happens(trouble.cut) {
                return end(key, .curl(code: 52, text: "no answer", osError: 0))
            }
            if answer.status >= 400 {
                takeBeforeRefusal(key, body)
            } else {
                sendings[key]?.taken = body.content?.length ?? 0
            }
            reply(key, answer)
        case .body(let intake): listen(key, intake)
        }
    }

    /// Some of the body may be out before the refusal comes.
    private func takeBeforeRefusal(_ key: SegmentKey, _ body: UploadBody) {
        guard !body.expectsContinue, let length = body.content?.length, length > 0 else { return }
        let taken = Int64.random(in: 0...min(length, 65_536), using: &random)
        sendings[key]?.taken = taken
        count(taken, of: key)
    }

    private func listen(_ key: SegmentKey, _ intake: SimIntake) {
        guard let exchange = requests[key], let sending = sendings[key] else { return }
        sendings[key]?.intake = intake
        requests[key]?.phase = .moving
        requests[key]?.served.range = 0..<sending.length
        requests[key]?.served.rate = servers.places[intake.request.place]?.rate ?? 2_000_000
        if let interim = intake.interim, !random.happens(trouble.cut) {
            facts.append(.interim(key, head(of: interim, exchange)))
            if let address = interim.names { servers.told(address) }
        }
        if random.happens(trouble.cut) {
            requests[key]?.served.cutAfter = Int64.random(
                in: 0...max(1, sending.length), using: &random)
        }
        if random.happens(trouble.stall) {
            requests[key]?.served.silentAfter = Int64.random(
                in: 0...max(1, sending.length), using: &random)
        }
    }

    private func fallSilent(_ key: SegmentKey) {
        requests[key]?.phase = .asked(Instant(nanoseconds: .max))
    }

    /// A portion of a body goes out.
    func send(_ key: SegmentKey, _ seconds: Double) -> Bool {
        if sendings[key] == nil { return false }
        sendPart(key, seconds)
        return true
    }

    private func sendPart(_ key: SegmentKey, _ seconds: Double) {
        guard var exchange = requests[key], var sending = sendings[key] else { return }
        if isDown { return end(key, .curl(code: 55, text: "reset", osError: 104)) }
        if let silent = exchange.served.silentAfter, exchange.served.sent >= silent { return }
        if let cut = exchange.served.cutAfter, exchange.served.sent >= cut {
            return end(key, .curl(code: 55, text: "cut", osError: 104))
        }
        let speed = exchange.served.rate * Double.random(in: 0.5...1.5, using: &random)
        let count = exchange.served.bounded(
            min(sending.length - exchange.served.sent, Int64(speed * seconds) + 1))
        if let pinned = sending.content.pinned,
            disk.sources.files[sending.inode]?.version != pinned
        {
            // What was made for this version meanwhile is as void.
            let resource = servers.resources[exchange.request.url]
            servers.voidResources(at: resource?.place ?? exchange.request.place)
            return end(key, .sourceChanged)
        }
        exchange.served.sent += count
        exchange.touched = now.monotonic
        sending.taken = exchange.served.sent
        sendings[key] = sending
        requests[key] = exchange
        self.count(count, of: key)
        // The rest is in the buffers on the way.
        let isAll = exchange.served.sent == sending.length
        let onItsWay = isAll ? 0 : Int64.random(in: 0...200_000, using: &random)
        guard arrive(key, through: exchange.served.sent - onItsWay) else {
            return end(key, .curl(code: 55, text: "the server has hung up", osError: 104))
        }
        if requests[key]?.isNoticeDue(at: exchange.served.sent) == true {
            facts.append(.progress(key))
        }
        if isAll { finish(key) }
    }

    private func count(_ bytes: Int64, of key: SegmentKey) {
        guard let target = requests[key]?.request.target else { return }
        disk.cells[target.cell]?.received += bytes
        if let open = disk.sources.open[key.fetch] { disk.cells[open.cell]?.received += bytes }
    }

    /// `false` = the server does not listen any more.
    private func arrive(_ key: SegmentKey, through end: Int64) -> Bool {
        guard var sending = sendings[key] else { return true }
        let isHeard = sending.arrive(through: end, at: servers, disk.sources)
        sendings[key] = sending
        return isHeard
    }

    private func finish(_ key: SegmentKey) {
        guard let intake = sendings[key]?.intake else { return }
        let answer = servers.finish(intake)
        sendings[key]?.intake = nil
        sendings[key]?.isUnanswered = true
        if random.happens(trouble.stall) { return fallSilent(key) }
        if random.happens(trouble.cut) {
            return end(key, .curl(code: 52, text: "no answer", osError: 0))
        }
        reply(key, answer)
    }

    private func reply(_ key: SegmentKey, _ answer: SimUploadAnswer) {
        guard let exchange = requests[key] else { return }
        if let address = answer.names { servers.told(address) }
        tell(key, head(of: answer, exchange), answer.body)
    }

    private func tell(_ key: SegmentKey, _ head: ResponseHead, _ answer: [UInt8]) {
        say("\(key) is told \(head.status) \(head.headers)")
        sendings[key]?.isUnanswered = false
        sendings[key]?.answer = answer
        facts.append(.head(key, head, .keep))
        end(key, nil)
    }

    private func head(of answer: SimUploadAnswer, _ exchange: SimulatedRequest) -> ResponseHead {
        var headers = HeaderFields()
        for name in answer.fields.keys.sorted() { headers[name] = answer.fields[name] }
        return ResponseHead(
            scheme: .http, status: answer.status, headers: headers, effectiveURL: exchange.url,
            httpVersion: 11, receivedAt: now.wall)
    }

    // MARK: - What is left on the way

    /// The connection is gone, by whatever cause: the kernel delivers some of what it has, perhaps
    /// the last byte.
    func deliverRest(of sending: SimSending, _ request: SegmentRequest) {
        var sending = sending
        guard sending.intake != nil else { return noteUnanswered(sending, request) }
        let end = Int64.random(
            in: sending.arrived...max(sending.arrived, sending.taken), using: &random)
        let isHeard = sending.arrive(through: end, at: servers, disk.sources)
        if let intake = sending.intake, isHeard, sending.arrived == sending.length {
            _ = servers.finish(intake)
            sending.isUnanswered = true
        }
        noteUnanswered(sending, request)
    }

    private func noteUnanswered(_ sending: SimSending, _ request: SegmentRequest) {
        // Of an empty body no byte tells whether it was on its way.
        guard sending.isUnanswered || sending.taken > 0 || sending.length == 0 else { return }
        servers.places[request.place]?.unanswered += 1
    }
}

extension SegmentRequest {
    /// Its URL without a query.
    fileprivate var place: String { String(url.prefix { $0 != "?" }) }
}

extension SimSending {
    /// `false` = the server does not listen any more.
    fileprivate mutating func arrive(
        through end: Int64, at servers: SimUploadServer, _ sources: SimSources
    ) -> Bool {
        guard end > arrived, var intake else { return true }
        let from = content.file.lowerBound + arrived
        let range = from..<from + (end - arrived)
        let bytes = content.pinned.flatMap { sources.contents[$0] }
        let pieces = bytes?.pieces(in: range) ?? []
        let isHeard = servers.receive(pieces, Int64(range.count), &intake)
        if isHeard { arrived = end }
        self.intake = intake
        return isHeard
    }
}
