import Foundation

/// Makes the plan of the answer to a request. It uses no sockets and no clock: `now` and the
/// counters of the URL are parameters.
struct ResponsePlanner {
    /// The number of requests for this URL, this one included.
    struct Visit: Sendable {
        var request = 0
        /// Answers that carried the file's content (or would have, for HEAD), this one included.
        var content = 0
    }

    var request: RequestHead
    var now: Int
    var visit: Visit

    /// The plan, and whether it counts as an answer that carries content.
    static func plan(_ request: RequestHead, visit: Visit, now: Int) -> (ResponsePlan, Bool) {
        let planner = ResponsePlanner(request: request, now: now, visit: visit)
        let (path, query) = request.pathAndQuery
        guard path.hasPrefix("/f/") else { return (planner.plain(404, "no such path\n"), false) }
        guard request.method == "GET" || request.method == "HEAD" else {
            return (planner.plain(405, "no such method\n"), false)
        }
        let knobs: Knobs
        do {
            knobs = try Knobs(query: query)
        } catch {
            var plan = planner.plain(400, "\(error)\n")
            plan.badKnob = error
            return (plan, false)
        }
        if let instead = planner.insteadOfFile(knobs) {
            return (planner.finished(instead, knobs), false)
        }
        return (planner.finished(planner.file(knobs), knobs), true)
    }

    // MARK: - Answers without the file

    private func plain(_ status: Int, _ text: String, _ headers: [HeaderField] = []) -> ResponsePlan
    {
        var plan = ResponsePlan()
        plan.status = status
        plan.headers = headers
        plan.headers.append(HeaderField("Content-Type", "text/plain"))
        plan.headers.append(HeaderField("Content-Length", "\(text.utf8.count)"))
        plan.pieces = [.text(text)]
        plan.framing = .length(text.utf8.count)
        return forMethod(plan)
    }

    private func insteadOfFile(_ knobs: Knobs) -> ResponsePlan? {
        if knobs.drop, visit.request <= knobs.drops ?? .max {
            var plan = ResponsePlan()
            plan.ending = .drop
            return plan
        }
        if knobs.pageat == visit.request {
            var page = plain(200, "<title>Log in</title>\n")
            page.headers.removeAll { $0.name == "Content-Type" }
            page.headers.append(HeaderField("Content-Type", "text/html"))
            return page
        }
        if let first = knobs.wordsat, (first..<first + knobs.wordtimes).contains(visit.request) {
            return words(knobs)
        }
        if let auth = knobs.auth {
            let expected = "Basic " + Data(auth.utf8).base64EncodedString()
            guard request["Authorization"] == expected else {
                let challenge = HeaderField("WWW-Authenticate", "Basic realm=\"longhaul\"")
                return plain(401, "who are you?\n", [challenge])
            }
        }
        if let needed = knobs.needheader, let colon = needed.firstIndex(of: ":") {
            let value = needed[needed.index(after: colon)...].drop { $0 == " " }
            guard request[String(needed[..<colon])] == String(value) else {
                return plain(403, "header missing\n")
            }
        }
        let first = knobs.statusafter + 1
        let inWindow =
            visit.request >= first && visit.request - first < knobs.statuses ?? .max
        if inWindow, knobs.notModified { return notModified(knobs) }
        if inWindow, let status = knobs.status { return forced(status, knobs) }
        if let status = knobs.rangestatus, request["Range"] != nil { return forced(status, knobs) }
        if knobs.redirects > 0 {
            let here = request.pathAndQuery
            let rest = here.query.split(separator: "&").filter { !$0.hasPrefix("redirects=") }
            let left = knobs.redirects > 1 ? ["redirects=\(knobs.redirects - 1)"] : []
            let query = (rest.map(String.init) + left).joined(separator: "&")
            return redirection("\(here.path)?\(query)", knobs)
        }
        if knobs.redirect.isEmpty { return nil }
        return redirection(knobs.redirect[(visit.request - 1) % knobs.redirect.count], knobs)
    }

    /// An error, say, in the place of the file.
    private func words(_ knobs: Knobs) -> ResponsePlan {
        var plan = plain(200, knobs.words)
        plan.headers = [HeaderField("Content-Type", knobs.wordstype)]
        if knobs.nolength {
            plan.headers.append(HeaderField("Transfer-Encoding", "chunked"))
            plan.framing = .chunked(terminated: true)
        } else {
            plan.headers.append(HeaderField("Content-Length", "\(knobs.words.utf8.count)"))
        }
        return plan
    }

    private func redirection(_ location: String, _ knobs: Knobs) -> ResponsePlan {
        plain(knobs.redirectcode, "elsewhere\n", [HeaderField("Location", location)])
    }

    private func notModified(_ knobs: Knobs) -> ResponsePlan {
        var plan = ResponsePlan()
        plan.status = 304
        plan.headers = validators(Representation(knobs, request: visit.request))
        plan.framing = .bodiless
        return plan
    }

    private func forced(_ status: Int, _ knobs: Knobs) -> ResponsePlan {
        var headers: [HeaderField] = []
        if let seconds = knobs.retryafter {
            headers.append(HeaderField("Retry-After", "\(seconds)"))
        } else if let seconds = knobs.retryafterdate {
            headers.append(HeaderField("Retry-After", HTTPDate.format(now + seconds)))
        }
        let file = Representation(knobs, request: visit.request)
        if status == 416 { headers += unsatisfied(file, knobs) }
        if status == 204 {
            var plan = ResponsePlan()
            plan.status = status
            plan.headers = headers
            plan.framing = .bodiless
            return plan
        }
        return plain(status, "status \(status)\n", headers)
    }

    // MARK: - Shared

    func validators(_ file: Representation) -> [HeaderField] {
        var headers: [HeaderField] = []
        if let etag = file.etag { headers.append(HeaderField("ETag", etag)) }
        if let seconds = file.lastModified {
            headers.append(HeaderField("Last-Modified", HTTPDate.format(seconds)))
        }
        return headers
    }

    func unsatisfied(_ file: Representation, _ knobs: Knobs) -> [HeaderField] {
        guard !knobs.no416range else { return [] }
        return [HeaderField("Content-Range", "bytes */\(knobs.bad416 ?? file.size)")]
    }

    func notSatisfiable(_ file: Representation, _ knobs: Knobs) -> ResponsePlan {
        plain(416, "range not satisfiable\n", validators(file) + unsatisfied(file, knobs))
    }

    private func forMethod(_ plan: ResponsePlan) -> ResponsePlan {
        guard request.method == "HEAD" else { return plan }
        var plan = plan
        plan.pieces = []
        plan.framing = .bodiless
        if plan.ending != .drop, plan.ending != .close { plan.ending = .keepAlive }
        return plan
    }

    /// Adds the common parts of every answer: the date, extra headers, the connection, the pace.
    private func finished(_ answer: ResponsePlan, _ knobs: Knobs) -> ResponsePlan {
        var plan = forMethod(answer)
        plan.headers.insert(HeaderField("Date", HTTPDate.format(knobs.date ?? now)), at: 0)
        plan.headers.insert(HeaderField("Server", "longhaul-test"), at: 0)
        for index in 0..<knobs.headerflood {
            plan.headers.append(HeaderField("X-Flood-\(index)", "\(index)"))
        }
        if knobs.bigheader > 0 {
            let value = String(repeating: "x", count: knobs.bigheader)
            plan.headers.append(HeaderField("X-Big", value))
        }
        for field in knobs.header {
            let parts = field.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            plan.headers.append(HeaderField(String(parts[0]), String(parts[1].drop { $0 == " " })))
        }
        let unwanted = Set(knobs.noheader.map { $0.lowercased() })
        plan.headers.removeAll { unwanted.contains($0.name.lowercased()) }
        if knobs.close, plan.ending == .keepAlive { plan.ending = .close }
        let oldOrClosing =
            request.version == "HTTP/1.0" || request["Connection"]?.lowercased() == "close"
        if oldOrClosing, plan.ending == .keepAlive { plan.ending = .close }
        if plan.ending == .close { plan.headers.append(HeaderField("Connection", "close")) }
        plan.interimHeads = knobs.interim
        plan.delayMilliseconds = knobs.delay
        if knobs.crawlat == visit.content {
            plan.burst = (1000, 250)
        } else if let bytes = knobs.drip {
            plan.burst = (bytes, knobs.dripms)
        } else if let rate = knobs.rate {
            plan.burst = (max(1, rate / Self.burstsPerSecond), 1000 / Self.burstsPerSecond)
        }
        return plan
    }

    private static let burstsPerSecond = 50
}
