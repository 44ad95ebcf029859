internal import CLonghaul
internal import LonghaulModel

/// Derives the request's end from libcurl's result.
extension EasyHandle {
    enum Completion {
        case ended(WireFailure?)
        case follow(RequestURL)
        case again(Hop.Framing)
        /// The request was not sent: its origin has as many connections as it may have.
        case crowded
    }

    /// To be called once, when the handle's transfer has ended.
    func completion(_ code: CURLcode) -> Completion {
        if flow.isCrowded, code != CURLE_OK { return .crowded }
        if flow.pointer.pointee.outcome == 0, hasAnswer(code) { judge(isCutOff: code != CURLE_OK) }
        guard let running else { preconditionFailure("an end without a request") }
        if case .dropped(let framing) = running.hop.answer { return .again(framing) }
        let failure = EndOfTransfer(curl: curl, flow: flow, errorText: errorText, running: running)
        if failure.isOfIdleConnection(code) {
            self.running?.connectionsTrustedFor = 0
            return .again(running.hop.framing)
        }
        if lacksHTTP1(running, code) { return .again(.unproven) }
        switch running.hop.judged?.verdict {
        case .redirect:
            return redirectCompletion(running)
        case .refuse:
            return .ended(.refused)
        // The server has answered completely; later failures of the connection do not matter.
        case .keep:
            return .ended(failure.ofSource)
        case .accept, .hold, nil:
            return .ended(failure.failure(code))
        }
    }

    /// An HTTP answer without a body is complete with its head; an empty file over FTP or SFTP,
    /// with libcurl's success.
    private func hasAnswer(_ code: CURLcode) -> Bool {
        flow.isHTTPHead ? flow.hasFinalHead : code == CURLE_OK
    }

    private func redirectCompletion(_ running: RunningRequest) -> Completion {
        switch running.nextHop(maxRedirects: configuration.maxRedirects) {
        case .success(let target):
            return .follow(target)
        case .failure(let refusal):
            if let head = running.hop.judged?.head {
                facts.facts.append(.head(running.request.key, head, .redirect))
            }
            return .ended(.redirect(refusal.problem))
        }
    }

    /// The bytes of an upload's body that libcurl has taken, and the part of them that it still
    /// holds. Of this hop alone: what went to a server that redirects has not gone to the next one.
    var sent: (count: Int64, held: Int64) {
        let count = flow.pointer.pointee.upload.sent
        return (count, max(0, count - curl.offset(CURLINFO_SIZE_UPLOAD_T)))
    }

    /// The end as a fact, to be asked for before the handle is reused.
    func end(_ running: RunningRequest, _ failure: WireFailure?) -> SegmentEnd {
        let flow = flow.pointer
        let planned = running.hop.judged?.plan?.position ?? running.request.offset
        let written = flow.pointee.written > 0 ? flow.pointee.position : planned
        var end = SegmentEnd(
            failure: failure, writtenThrough: written, bytesReceived: flow.pointee.received,
            seconds: Double(turn.pointee.now - running.begunAt) / 1e9,
            httpVersion: curl.httpVersion)
        end.isProxied = running.isProxied
        end.phases = curl.phases
        end.answer = self.flow.answer
        if running.request.upload != nil {
            (end.bytesSent, end.bytesUnsent) = sent
        }
        return end
    }
}
