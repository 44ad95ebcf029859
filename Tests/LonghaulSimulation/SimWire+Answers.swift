import LonghaulCore

/// What servers say.
extension SimWire {
    func answer(_ key: SegmentKey) {
        guard var exchange = exchanges[key] else { return }
        if exchange.sending != nil { return answerUpload(key) }
        guard let content = contents[exchange.url] else {
            return conclude(key, &exchange, status(404, exchange))
        }
        answered += 1
        exchange.touched = now.monotonic
        if random.happens(trouble.refused) {
            exchanges[key] = exchange
            return end(key, .curl(code: 7, text: "refused", osError: 111))
        }
        if random.happens(trouble.stall / 2) {
            // Accepted, and never answered.
            exchange.phase = .asked(Instant(nanoseconds: .max))
            exchanges[key] = exchange
            return
        }
        if random.happens(trouble.busy) { return conclude(key, &exchange, busy(exchange)) }
        let isOneTooMany = openBodies(of: exchange.url) >= content.oddities.connections
        if isOneTooMany { forbidden += 1 }
        if let refusal = isOneTooMany ? 403 : content.refusal {
            return conclude(key, &exchange, status(refusal, exchange))
        }
        if let target = content.movedTo {
            var head = status(302, exchange)
            head.headers["Location"] = target
            return redirect(key, &exchange, head, to: target)
        }
        exchange.version = content.current
        exchange.body = 0..<content.current.count
        exchange.rate = content.rate
        var head = ResponseHead(
            status: 200, headers: content.headers(at: now.wall), effectiveURL: exchange.url,
            receivedAt: now.wall)
        let tag = exchange.request.headers["If-None-Match"]
        if let tag, tag == head.headers["ETag"] {
            head.status = 304
            exchange.body = 0..<0
            return conclude(key, &exchange, head)
        }
        ranged(&head, &exchange, content)
        if !content.isChunked { head.headers["Content-Length"] = String(exchange.body.count) }
        if content.isChunked { head.headers["Transfer-Encoding"] = "chunked" }
        if random.happens(trouble.lie) { lie(&head, &exchange) }
        let length = Int64(exchange.body.count)
        if random.happens(trouble.cut) {
            exchange.cutAfter = Int64.random(in: 0...max(1, length), using: &random)
        }
        if random.happens(trouble.stall) {
            exchange.silentAfter = Int64.random(in: 0...max(1, length), using: &random)
        }
        conclude(key, &exchange, head)
    }

    /// Bodies that the server is sending; what was stopped it has heard of.
    private func openBodies(of url: String) -> Int {
        exchanges.values.count { exchange in
            switch exchange.phase {
            case .held, .moving: exchange.url == url && !exchange.isStopping
            case .queued, .asked: false
            }
        }
    }

    private func status(_ code: Int, _ exchange: SimExchange) -> ResponseHead {
        ResponseHead(
            status: code, headers: HeaderFields(), effectiveURL: exchange.url,
            receivedAt: now.wall)
    }

    func busy(_ exchange: SimExchange) -> ResponseHead {
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
        _ key: SegmentKey, _ exchange: inout SimExchange, _ head: ResponseHead, to target: String
    ) {
        guard exchange.request.judge(head) == .redirect else {
            return conclude(key, &exchange, head)
        }
        redirects += 1
        guard exchange.hops < Limits.redirects else {
            facts.append(.head(key, head, .redirect))
            exchanges[key] = exchange
            return end(key, .redirect(.tooMany))
        }
        say("\(key) is led to \(target)")
        exchange.hops += 1
        exchange.url = target
        exchange.phase = .asked(now.monotonic)
        exchanges[key] = exchange
    }

    private func ranged(
        _ head: inout ResponseHead, _ exchange: inout SimExchange, _ content: SimContent
    ) {
        let size = content.current.count
        let fields = exchange.request.headers
        if !content.ignoresRanges { head.headers["Accept-Ranges"] = "bytes" }
        guard let range = fields["Range"], !content.ignoresRanges,
            content.meets(fields["If-Range"], at: now.wall)
        else { return }
        let ends = range.dropFirst("bytes=".count).split(
            separator: "-", omittingEmptySubsequences: false)
        let start = Int64(ends[0]) ?? 0
        let last = ends.count > 1 && !content.ignoresRangeEnds ? Int64(ends[1]) : nil
        var end = min(size, last.map { $0 + 1 } ?? size)
        end = min(end, start.addingClamped(content.oddities.partMost))
        guard start < size else {
            head.status = 416
            head.headers["Content-Range"] = "bytes */\(size)"
            exchange.body = 0..<0
            return
        }
        exchange.body = start..<end
        head.status = 206
        if content.oddities.baresParts {
            for proof in ["ETag", "Last-Modified", "Date"] { head.headers[proof] = nil }
        }
        head.headers["Content-Range"] = "bytes \(start)-\(end - 1)/\(size)"
    }

    /// What no server should say.
    private func lie(_ head: inout ResponseHead, _ exchange: inout SimExchange) {
        contents[exchange.url]?.hasMisled = true
        // It was led there.
        contents[exchange.request.url]?.hasMisled = true
        let body = exchange.body
        let size = exchange.version.count
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
            exchange.body = body.lowerBound..<body.lowerBound + Int64(body.count / 2)
            head.headers["Content-Range"] =
                "bytes \(body.lowerBound)-\(exchange.body.upperBound - 1)/\(size)"
            head.headers["Content-Length"] = String(exchange.body.count)
        case 4: head.headers["ETag"] = nil
        case 5:
            head = status([304, 204, 412, 416].randomElement(using: &random) ?? 304, exchange)
            exchange.body = 0..<0
        case 6 where head.status == 206:
            // The whole file, for a part.
            head.status = 200
            head.headers["Content-Range"] = nil
            exchange.body = 0..<size
            head.headers["Content-Length"] = String(size)
        case 7 where head.status == 206: exchange.isTooLong = true
        default: head.headers["Last-Modified"] = nil
        }
        say("a lie: \(head.status) \(head.headers)")
    }

    /// The head is judged as the transport does it: with the first byte of the body, or at its end.
    private func conclude(_ key: SegmentKey, _ exchange: inout SimExchange, _ head: ResponseHead) {
        exchange.answer = head
        let verdict = exchange.request.judge(head)
        let isEmpty = exchange.body.isEmpty || head.status >= 300
        exchanges[key] = exchange
        if !isEmpty, exchange.cutAfter == 0 {
            // The body broke off before its first byte: nothing is given up for a head alone.
            if verdict == .hold { return end(key, .curl(code: 18, text: "cut", osError: 104)) }
        }
        say("\(key) is told \(head.status): \(verdict)")
        facts.append(.head(key, head, verdict))
        switch verdict {
        case .accept(let plan): open(key, plan)
        case .hold: exchanges[key]?.phase = .held
        case .redirect, .keep, .refuse: end(key, .refused)
        }
    }

    func open(_ key: SegmentKey, _ plan: BodyPlan) {
        guard let request = exchanges[key]?.request else { return }
        var plan = plan
        if let end = request.end { plan.end = min(end, plan.end ?? end) }
        exchanges[key]?.phase = .moving
        exchanges[key]?.plan = plan
        if plan.isCutAtEnd, let end = plan.end {
            let stop = exchanges[key]?.stopAt ?? end
            exchanges[key]?.stopAt = min(end, stop)
        }
        exchanges[key]?.isOpen = true
        exchanges[key]?.position = plan.position
        exchanges[key]?.noticed = plan.position
        exchanges[key]?.touched = now.monotonic
    }
}
