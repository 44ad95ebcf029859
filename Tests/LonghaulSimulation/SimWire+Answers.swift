import LonghaulCore
import LonghaulSimulatedWire

/// What servers say.
extension SimWire {
    func answer(_ key: SegmentKey) {
        guard var exchange = requests[key] else { return }
        if sendings[key] != nil { return answerUpload(key) }
        guard let content = contents[exchange.url] else {
            return judge(key, exchange, status(404, exchange))
        }
        answered += 1
        exchange.touched = now.monotonic
        if random.happens(trouble.refused) {
            requests[key] = exchange
            return end(key, .curl(code: 7, text: "refused", osError: 111))
        }
        if random.happens(trouble.stall / 2) {
            // Accepted, and never answered.
            exchange.phase = .asked(Instant(nanoseconds: .max))
            requests[key] = exchange
            return
        }
        if random.happens(trouble.busy) { return judge(key, exchange, busy(exchange)) }
        let isOneTooMany = openBodies(of: exchange.url) >= content.oddities.connections
        if isOneTooMany { forbidden += 1 }
        if let refusal = isOneTooMany ? 403 : content.refusal {
            return judge(key, exchange, status(refusal, exchange))
        }
        if let target = content.movedTo {
            var head = status(302, exchange)
            head.headers["Location"] = target
            return redirect(key, &exchange, head, to: target)
        }
        versions[key] = content.current
        exchange.served.range = 0..<content.current.count
        exchange.served.rate = content.rate
        var head = ResponseHead(
            status: 200, headers: content.headers(at: now.wall), effectiveURL: exchange.url,
            receivedAt: now.wall)
        let tag = exchange.request.headers["If-None-Match"]
        if let tag, tag == head.headers["ETag"] {
            head.status = 304
            exchange.served.range = 0..<0
            return judge(key, exchange, head)
        }
        ranged(&head, &exchange, content)
        if !content.isChunked {
            head.headers["Content-Length"] = String(exchange.served.range.count)
        }
        if content.isChunked { head.headers["Transfer-Encoding"] = "chunked" }
        if random.happens(trouble.lie) { lie(&head, &exchange) }
        let length = Int64(exchange.served.range.count)
        if random.happens(trouble.cut) {
            exchange.served.cutAfter = Int64.random(in: 0...max(1, length), using: &random)
        }
        if random.happens(trouble.stall) {
            exchange.served.silentAfter = Int64.random(in: 0...max(1, length), using: &random)
        }
        judge(key, exchange, head)
    }

    /// Bodies that the server is sending; what was stopped it has heard of.
    private func openBodies(of url: String) -> Int {
        requests.values.count { exchange in
            switch exchange.phase {
            case .held, .moving: exchange.url == url && !exchange.isStopping
            case .queued, .asked: false
            }
        }
    }

    private func status(_ code: Int, _ exchange: SimulatedRequest) -> ResponseHead {
        ResponseHead(
            status: code, headers: HeaderFields(), effectiveURL: exchange.url,
            receivedAt: now.wall)
    }

    func busy(_ exchange: SimulatedRequest) -> ResponseHead {
        let code = [503, 429, 500, 408, 502].randomElement(using: &random) ?? 503
        var head = status(code, exchange)
        guard code == 503 || code == 429, Bool.random(using: &random) else { return head }
        let seconds = Int.random(in: 1...200, using: &random)
        head.headers["Retry-After"] =
            Bool.random(using: &random)
            ? String(seconds) : HTTPDate.format(now.wall + Double(seconds))
        didAskToWait(exchange.request.key, Double(seconds))
        return head
    }

    /// Followed here, as the transport does, with the same ranges.
    private func redirect(
        _ key: SegmentKey, _ exchange: inout SimulatedRequest, _ head: ResponseHead,
        to target: String
    ) {
        guard exchange.request.judge(head) == .redirect else {
            return judge(key, exchange, head)
        }
        redirects += 1
        guard exchange.redirects < Limits.redirects else {
            facts.append(.head(key, head, .redirect))
            requests[key] = exchange
            return end(key, .redirect(.tooMany))
        }
        say("\(key) is led to \(target)")
        exchange.redirects += 1
        exchange.url = target
        exchange.phase = .asked(now.monotonic)
        requests[key] = exchange
    }

    private func ranged(
        _ head: inout ResponseHead, _ exchange: inout SimulatedRequest, _ content: SimContent
    ) {
        let size = content.current.count
        if content.ignoresRanges { return }
        head.headers["Accept-Ranges"] = "bytes"
        guard let (start, last) = exchange.askedRange,
            content.meets(exchange.request.headers["If-Range"], at: now.wall)
        else { return }
        var end = min(size, content.ignoresRangeEnds ? size : last ?? size)
        end = min(end, start.addingClamped(content.oddities.partMost))
        exchange.answer(with: start < size ? start..<end : size..<size, of: size, in: &head)
        guard head.status == 206, content.oddities.baresParts else { return }
        for proof in ["ETag", "Last-Modified", "Date"] { head.headers[proof] = nil }
    }

    /// What no server should say.
    private func lie(_ head: inout ResponseHead, _ exchange: inout SimulatedRequest) {
        contents[exchange.url]?.hasMisled = true
        // It was led there.
        contents[exchange.request.url]?.hasMisled = true
        let body = exchange.served.range
        let size = versions[exchange.request.key]?.count ?? 0
        switch Int.random(in: 0..<9, using: &random) {
        case 0 where head.status == 206:
            let told = body.lowerBound + 1
            head.headers["Content-Range"] = "bytes \(told)-\(body.upperBound - 1)/\(size)"
        case 1 where head.status == 206:
            head.headers["Content-Range"] =
                "bytes \(body.lowerBound)-\(body.upperBound - 1)/\(size + 7)"
        case 2 where head.status == 206: head.headers["Content-Range"] = nil
        case 3 where head.status == 206 && body.count > 2:
            // Fewer than asked for, which is allowed.
            exchange.served.range = body.lowerBound..<body.lowerBound + Int64(body.count / 2)
            head.headers["Content-Range"] =
                "bytes \(body.lowerBound)-\(exchange.served.range.upperBound - 1)/\(size)"
            head.headers["Content-Length"] = String(exchange.served.range.count)
        case 4: head.headers["ETag"] = nil
        case 5:
            head = status([304, 204, 412, 416].randomElement(using: &random) ?? 304, exchange)
            exchange.served.range = 0..<0
        case 6 where head.status == 206:
            // The whole file, for a part.
            head.status = 200
            head.headers["Content-Range"] = nil
            exchange.served.range = 0..<size
            head.headers["Content-Length"] = String(size)
        case 7 where head.status == 206: exchange.served.isTooLong = true
        default: head.headers["Last-Modified"] = nil
        }
        say("a lie: \(head.status) \(head.headers)")
    }
}
