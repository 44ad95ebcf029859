internal import FoundationEssentials
internal import Glibc
internal import Longhaul
internal import LonghaulCore
internal import LonghaulSimulatedWire

/// The answers of the servers.
extension WorldWire {
    func answer(_ key: SegmentKey) {
        guard var request = requests[key] else { return }
        let sent = sentBody(of: request.request)
        request.served.sent = Int64(sent?.count ?? 0)
        request.touched = now.monotonic
        let (resource, fault) = network.record(seen(request.request, sent), request.url)
        switch fault {
        case .refuse:
            return end(
                key,
                .curl(code: 7, text: "the connection was refused", osError: ECONNREFUSED))
        case .status(let status, let seconds):
            var head = head(status, request)
            head.headers["Retry-After"] = seconds.map { String($0) }
            return judge(key, request, head)
        case .cut(let count): request.served.cutAfter = Int64(count)
        case .stall(let count): request.served.silentAfter = Int64(count)
        case nil: break
        }
        guard let resource else { return judge(key, request, head(404, request)) }
        if let upload = request.request.upload {
            let isTaken = resource.takesUploads && ["PUT", "POST"].contains(upload.method)
            return judge(key, request, head(isTaken ? 201 : 405, request))
        }
        if resource.takesUploads { return judge(key, request, head(405, request)) }
        let head = serve(resource, &request)
        contents[key] = resource.content
        judge(key, request, head)
    }

    private func serve(
        _ resource: SimulatedNetwork.Resource, _ request: inout SimulatedRequest
    ) -> ResponseHead {
        var head = head(200, request)
        head.headers["Accept-Ranges"] = "bytes"
        head.headers["ETag"] = resource.entityTag
        head.headers["Last-Modified"] = HTTPDate.format(resource.modified)
        head.headers["Date"] = HTTPDate.format(now.wall)
        let whole = 0..<Int64(resource.content.count)
        let headers = request.request.headers
        let condition = headers["If-Range"]
        if let tag = resource.entityTag, headers["If-None-Match"] == tag {
            head.status = 304
        } else if let (start, end) = request.askedRange,
            condition == nil || condition == resource.entityTag
                || condition == HTTPDate.format(resource.modified)
        {
            let part = (start..<max(start, end ?? .max)).clamped(to: whole)
            request.answer(with: part, of: whole.upperBound, in: &head)
        } else {
            request.served.range = whole
        }
        head.headers["Content-Length"] = String(request.served.range.count)
        return head
    }

    private func head(_ status: Int, _ request: SimulatedRequest) -> ResponseHead {
        ResponseHead(
            status: status, headers: HeaderFields(), effectiveURL: request.url,
            receivedAt: now.wall)
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
            date: Date(now.wall), method: request.upload?.method ?? "GET",
            url: URL(string: request.url) ?? URL(fileURLWithPath: "/"), headers: headers,
            body: body.map { Data($0) })
    }
}
