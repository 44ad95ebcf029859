internal import FoundationEssentials
internal import Glibc
internal import Longhaul
internal import LonghaulCore

/// The answers of the servers.
extension SimulatedWire {
    /// The head of the answer is there.
    func answer(_ key: SegmentKey, _ state: inout State) {
        guard let exchange = state.exchanges[key] else { return }
        let request = exchange.request
        if state.isOffline {
            // 7: CURLE_COULDNT_CONNECT
            let failure = WireFailure.curl(
                code: 7, text: "the network is down", osError: ENETUNREACH)
            return end(key, failure, &state)
        }
        let sent = sentBody(of: request)
        state.exchanges[key]?.sent = Int64(sent?.count ?? 0)
        state.exchanges[key]?.touched = clock.now.monotonic
        let (resource, fault) = network.record(seen(request, sent), request.url)
        switch fault {
        case .refuse:
            let failure = WireFailure.curl(
                code: 7, text: "the connection was refused", osError: ECONNREFUSED)
            return end(key, failure, &state)
        case .status(let status, let seconds):
            var head = head(status, request)
            head.headers["Retry-After"] = seconds.map { String($0) }
            return judge(key, head, &state)
        case .cut(let count): state.exchanges[key]?.cutAfter = count
        case .stall(let count): state.exchanges[key]?.silentAfter = count
        case nil: break
        }
        guard let resource else { return judge(key, head(404, request), &state) }
        if let upload = request.upload {
            let isTaken = resource.takesUploads && ["PUT", "POST"].contains(upload.method)
            return judge(key, head(isTaken ? 201 : 405, request), &state)
        }
        if resource.takesUploads { return judge(key, head(405, request), &state) }
        serve(resource, key, request, &state)
    }

    private func serve(
        _ resource: SimulatedNetwork.Resource, _ key: SegmentKey, _ request: SegmentRequest,
        _ state: inout State
    ) {
        var head = head(200, request)
        head.headers["Accept-Ranges"] = "bytes"
        head.headers["ETag"] = resource.entityTag
        head.headers["Last-Modified"] = HTTPDate.format(resource.modified)
        head.headers["Date"] = HTTPDate.format(clock.now.wall)
        var range = 0..<resource.content.count
        if let tag = resource.entityTag, request.headers["If-None-Match"] == tag {
            head.status = 304
            range = 0..<0
        } else if let asked = asked(by: request, of: resource) {
            range = asked.clamped(to: range)
            if range.isEmpty {
                head.status = 416
                head.headers["Content-Range"] = "bytes */\(resource.content.count)"
            } else {
                head.status = 206
                head.headers["Content-Range"] =
                    "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(resource.content.count)"
            }
        }
        head.headers["Content-Length"] = String(range.count)
        state.exchanges[key]?.body = resource.content[range]
        judge(key, head, &state)
    }

    /// `nil`: the whole file.
    private func asked(
        by request: SegmentRequest, of resource: SimulatedNetwork.Resource
    ) -> Range<Int>? {
        guard let field = request.headers["Range"], field.hasPrefix("bytes=") else { return nil }
        if let condition = request.headers["If-Range"],
            condition != resource.entityTag,
            condition != HTTPDate.format(resource.modified)
        {
            return nil
        }
        let ends = field.dropFirst("bytes=".count).split(
            separator: "-", omittingEmptySubsequences: false)
        guard let first = ends.first.flatMap({ Int($0) }) else { return nil }
        let last = ends.count > 1 ? Int(ends[1]) : nil
        return first..<max(first, last.map { $0 + 1 } ?? Int.max)
    }

    private func head(_ status: Int, _ request: SegmentRequest) -> ResponseHead {
        ResponseHead(
            status: status, headers: HeaderFields(), effectiveURL: request.url,
            receivedAt: clock.now.wall)
    }

    /// Judges a head, as the transport does.
    private func judge(_ key: SegmentKey, _ head: ResponseHead, _ state: inout State) {
        guard let exchange = state.exchanges[key] else { return }
        let verdict = exchange.request.judge(head)
        state.facts.append(.head(key, head, verdict))
        switch verdict {
        case .accept(let plan): open(key, plan, &state)
        case .hold: state.exchanges[key]?.phase = .held
        case .keep: end(key, nil, &state)
        case .redirect, .refuse: end(key, .refused, &state)
        }
    }

    // MARK: - Requests

    private func sentBody(of request: SegmentRequest) -> [UInt8]? {
        guard let content = request.upload?.content else { return nil }
        var bytes = [UInt8](repeating: 0, count: content.file.count)
        let count = bytes.withUnsafeMutableBytes {
            pread(
                request.target.descriptor, $0.baseAddress, $0.count,
                off_t(content.file.lowerBound))
        }
        return content.before + bytes.prefix(max(0, count)) + content.after
    }

    private func seen(
        _ request: SegmentRequest, _ body: [UInt8]?
    ) -> SimulatedNetwork.Request {
        var headers: [String: String] = [:]
        for field in request.headers.fields { headers[field.name] = field.value }
        return SimulatedNetwork.Request(
            date: Date(clock.now.wall), method: request.upload?.method ?? "GET",
            url: URL(string: request.url) ?? URL(fileURLWithPath: "/"), headers: headers,
            body: body.map { Data($0) })
    }
}
