extension ResponsePlanner {
    /// The answer that carries the file, or a range of it.
    func file(_ knobs: Knobs) -> ResponsePlan {
        let file = Representation(knobs, request: visit.request)
        switch wantedRange(of: file, knobs) {
        case .none: return full(file, knobs)
        case .unsatisfiable: return notSatisfiable(file, knobs)
        case .satisfiable(let range): return partial(file, range, knobs)
        }
    }

    private func wantedRange(of file: Representation, _ knobs: Knobs) -> RangeHeader {
        // A server may ignore Range altogether (RFC 9110 §14.2), with `Accept-Ranges: none` or
        // without.
        guard !knobs.noranges, !knobs.ignorerange else { return .none }
        if let condition = request["If-Range"], request["Range"] != nil {
            if knobs.ifrangefull { return .none }
            let now = knobs.date ?? now
            guard knobs.noifrange || file.matches(ifRange: condition, now: now) else {
                return .none
            }
        }
        if knobs.closedranges, request["Range"]?.hasSuffix("-") == true { return .unsatisfiable }
        return RangeHeader(request["Range"], size: file.size)
    }

    private func full(_ file: Representation, _ knobs: Knobs) -> ResponsePlan {
        var plan = ResponsePlan()
        plan.headers = about(file, knobs)
        plan.headers.append(HeaderField("Content-Type", knobs.contenttype))
        if knobs.always206 {
            plan.status = 206
            let field = contentRange(0..<file.size, of: file, knobs)
            if !knobs.norangeheader { plan.headers.append(HeaderField("Content-Range", field)) }
        }
        digests(of: file, 0..<file.size, knobs, into: &plan)
        plan.pieces = [.file(file.oracle, 0..<file.size)]
        return framed(plan, knobs)
    }

    private func partial(
        _ file: Representation, _ asked: Range<Int>, _ knobs: Knobs
    ) -> ResponsePlan {
        var range = asked
        if knobs.norangeend { range = range.lowerBound..<file.size }
        if let most = knobs.maxrange { range = range.prefix(most) }
        if knobs.wrongstart != 0 {
            let start = min(max(0, range.lowerBound + knobs.wrongstart), file.size - 1)
            range = start..<max(start + 1, range.upperBound)
        }
        var file = file
        if knobs.changedetag { file.etag = "\"another\"" }

        var plan = ResponsePlan()
        plan.status = knobs.contentrange200 ? 200 : 206
        plan.headers = about(file, knobs)
        digests(of: file, range, knobs, into: &plan)
        let field = contentRange(range, of: file, knobs)
        let content = ResponsePlan.Piece.file(file.oracle, knobs.empty206 ? 0..<0 : range)
        if knobs.multipart {
            let type = "multipart/byteranges; boundary=LONGHAUL"
            plan.headers.append(HeaderField("Content-Type", type))
            plan.pieces = [
                .text(
                    "--LONGHAUL\r\nContent-Type: \(knobs.contenttype)\r\n"
                        + "Content-Range: \(field)\r\n\r\n"),
                content, .text("\r\n--LONGHAUL--\r\n"),
            ]
        } else {
            plan.headers.append(HeaderField("Content-Type", knobs.contenttype))
            if !knobs.norangeheader { plan.headers.append(HeaderField("Content-Range", field)) }
            plan.pieces = [content]
        }
        return framed(plan, knobs)
    }

    private func contentRange(_ range: Range<Int>, of file: Representation, _ knobs: Knobs)
        -> String
    {
        if let form = knobs.contentrange {
            return form.replacing("{start}", with: "\(range.lowerBound)")
                .replacing("{end}", with: "\(range.upperBound - 1)")
                .replacing("{total}", with: "\(file.size)")
        }
        let unit = knobs.wrongunit ? "octets" : "bytes"
        let total = knobs.unknowntotal ? "*" : "\(file.size + knobs.wrongtotal)"
        return "\(unit) \(range.lowerBound)-\(range.upperBound - 1 + knobs.wrongend)/\(total)"
    }

    private func about(_ file: Representation, _ knobs: Knobs) -> [HeaderField] {
        var headers = [HeaderField("Accept-Ranges", knobs.noranges ? "none" : "bytes")]
        headers += validators(file)
        if let value = knobs.disposition {
            headers.append(HeaderField("Content-Disposition", value))
        }
        if knobs.gzip { headers.append(HeaderField("Content-Encoding", "gzip")) }
        return headers
    }

    private func digests(
        of file: Representation, _ range: Range<Int>, _ knobs: Knobs, into plan: inout ResponsePlan
    ) {
        if knobs.digest || knobs.baddigest {
            let value = file.digestField(of: 0..<file.size, false: knobs.baddigest)
            plan.headers.append(HeaderField("Repr-Digest", value))
        }
        if knobs.contentdigest {
            let value = file.digestField(of: range, false: false)
            plan.headers.append(HeaderField("Content-Digest", value))
        }
    }

    /// Adds the framing and the accidents.
    private func framed(_ answer: ResponsePlan, _ knobs: Knobs) -> ResponsePlan {
        var plan = answer
        let honest = plan.bodyCount
        if knobs.closelength || (request.version == "HTTP/1.0" && knobs.nolength) {
            plan.framing = .untilClose
            plan.ending = .close
        } else if knobs.nolength || knobs.badchunk {
            plan.headers.append(HeaderField("Transfer-Encoding", "chunked"))
            plan.framing = .chunked(terminated: !knobs.badchunk)
            if knobs.badchunk { plan.ending = .cut(honest) }
        } else {
            plan.headers.append(HeaderField("Content-Length", "\(honest)"))
            plan.framing = .length(honest)
        }
        if knobs.short > 0 {
            plan.ending = .cut(max(0, honest - knobs.short))
        } else if knobs.long > 0 {
            plan.pieces.append(.text(String(repeating: "L", count: knobs.long)))
            plan.ending = .cut(honest + knobs.long)
        }
        if knobs.trailergarbage { plan.garbageAfter = "this belongs to nobody\r\n" }

        // An accident beyond the end of this body does not happen.
        let count = plan.bodyCount
        let cutNow = visit.content <= knobs.cuts ?? .max
        let stallNow = visit.content <= knobs.stalls ?? .max
        let cut = knobs.cut.flatMap { cutNow && $0 <= count ? $0 : nil }
        let stall = knobs.stall.flatMap { stallNow && $0 <= count ? $0 : nil }
        if let cut, cut <= stall ?? .max {
            plan.ending = knobs.cutreset ? .reset(cut) : .cut(cut)
        } else if let stall {
            plan.ending = .stall(stall)
        }
        return plan
    }
}
