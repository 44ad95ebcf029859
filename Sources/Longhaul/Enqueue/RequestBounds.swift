internal import LonghaulCore

/// The bounds of what is asked of a transfer, the same for commands and programs. What is outside
/// of them is refused (`invalidRequest`) before anything is recorded.
enum RequestBounds {
    static func check(_ request: TransferRequest) throws(LonghaulError) {
        try check(request.options)
        try check(request.schedule.requires)
        try check(request.schedule.prefers)
        try check(expectedBytes: request.expectedBytes)
    }

    static func check(_ options: TransferOptions) throws(LonghaulError) {
        if let defect = defect(of: options) { throw LonghaulError(.invalidRequest, defect) }
        var headerBytes = 0
        for field in options.headers.fields {
            if let problem = field.problem {
                throw LonghaulError(.invalidRequest, problem.description)
            }
            headerBytes += field.name.utf8.count + field.value.utf8.count
        }
        if headerBytes > Limits.requestHeaderBytes {
            throw LonghaulError(
                .invalidRequest,
                "the header fields of one request are more than \(Limits.requestHeaderBytes)"
                    + " bytes together")
        }
    }

    static func check(_ needs: ConditionNeeds?) throws(LonghaulError) {
        if let defect = needs?.defect { throw LonghaulError(.invalidRequest, defect) }
    }

    static func check(expectedBytes: Int64?) throws(LonghaulError) {
        if let expectedBytes, expectedBytes < 0 {
            throw LonghaulError(.invalidRequest, "the expected size is 0 bytes or more")
        }
    }

    /// A JSON text on one line.
    ///
    /// - Parameter what: As the error names it.
    static func json(_ text: String, _ what: String) throws(LonghaulError) -> String {
        do {
            return String(decoding: try JSONScanner.compacted(text), as: UTF8.self)
        } catch {
            throw LonghaulError(.invalidRequest, "the \(what) is no JSON: \(error)")
        }
    }

    private static func defect(of options: TransferOptions) -> String? {
        if let rate = options.limitRate, rate < 1 {
            return "a rate limit is at least 1 byte per second"
        }
        if !(options.stallTimeout > 0) || !options.stallTimeout.isFinite {
            return "a stall timeout is a finite number of seconds, more than 0"
        }
        if !(options.waiveAfter >= 0) || !options.waiveAfter.isFinite {
            return "preferences are waived after a finite number of seconds, 0 or more"
        }
        let counts = 1...Limits.segmentsPerFetch
        if case .exactly(let count) = options.connections, !counts.contains(count) {
            return "a file has 1 to \(Limits.segmentsPerFetch) connections"
        }
        if let retries = options.retries, !(0...Int(Int32.max)).contains(retries) {
            return "the number of retries is 0 to \(Int32.max)"
        }
        if let size = options.maxSize, size < 0 { return "the largest size is 0 bytes or more" }
        return nil
    }
}
