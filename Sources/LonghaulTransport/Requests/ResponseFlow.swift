internal import CLonghaul
internal import LonghaulModel

/// The response being read: the buffer of its head, the place of its body, and what pauses it.
///
/// The state is C's, because the callbacks that run for every piece of a response are C. libcurl
/// holds its address while the handle is in the multi handle.
struct ResponseFlow {
    let pointer: UnsafeMutablePointer<lh_flow>

    init() {
        pointer = .allocate(capacity: 1)
        pointer.initialize(to: lh_flow())
    }

    func deallocate() {
        lh_flow_free_head(pointer)
        pointer.deallocate()
    }

    // MARK: - Head

    /// FTP through an HTTP proxy answers with HTTP heads too.
    var isHTTPHead: Bool { pointer.pointee.head_length > 0 }

    var hasFinalHead: Bool { pointer.pointee.head_complete != 0 }

    var headFields: HeaderFields {
        HeadBlock.fields(
            of: UnsafeRawBufferPointer(
                start: pointer.pointee.head, count: pointer.pointee.head_length))
    }

    /// The beginning of FTP's latest reply, on one line.
    var replyOfFTP: String {
        withUnsafeBytes(of: &pointer.pointee.reply) { bytes in
            bytes[..<pointer.pointee.reply_length].split { $0 == 0x0A || $0 == 0x0D }
                .map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
        }
    }

    /// Size that the answer to SIZE told.
    var sizeByFTP: Int64? {
        pointer.pointee.has_told_size == 0 ? nil : pointer.pointee.told_size
    }

    /// The budget had no connection for the request; none of its bytes were sent.
    var isCrowded: Bool {
        pointer.pointee.is_crowded != 0 && !isHTTPHead && pointer.pointee.upload.position == 0
    }

    // MARK: - Body

    /// Directs the body to the place in the plan.
    ///
    /// - Parameters:
    ///   - end: Where the requested range ends.
    ///   - stopAt: An end before the requested one that counts as success.
    ///   - status: The status of the head.
    func open(_ plan: BodyPlan, end: Int64?, stopAt: Int64?, status: Int?) {
        pointer.pointee.skip = plan.skip
        pointer.pointee.compare = plan.compare
        pointer.pointee.position = plan.position
        pointer.pointee.end = plan.end ?? -1
        pointer.pointee.stop_at = stopAt ?? -1
        if plan.isCutAtEnd, let end = plan.end { pointer.pointee.stop_at = min(end, stopAt ?? end) }
        if let end {
            if isHTTPHead {
                // The bound of a range does not apply to an answer with the whole file.
                if status == 206 { pointer.pointee.end = min(end, plan.end ?? end) }
            } else {
                // FTP and SFTP cannot be asked for an end: the transfer is cut off there.
                pointer.pointee.stop_at = min(end, stopAt ?? end)
            }
        }
        pointer.pointee.state = Int32(LH_FLOW_OPEN.rawValue)
    }

    /// Ends the request with success when it reaches this offset.
    func shrink(to end: Int64) {
        let stop = pointer.pointee.stop_at
        pointer.pointee.stop_at = stop < 0 ? end : min(stop, end)
    }

    var hasReachedStop: Bool {
        pointer.pointee.state == Int32(LH_FLOW_OPEN.rawValue) && pointer.pointee.stop_at >= 0
            && pointer.pointee.compare == 0 && pointer.pointee.position >= pointer.pointee.stop_at
    }

    /// Pauses the body until ``open(_:end:stopAt:status:)``.
    func hold() {
        pointer.pointee.state = Int32(LH_FLOW_HELD.rawValue)
    }

    /// A body that is already in memory as a whole is dropped there, and the connection can be
    /// reused. For any other body the request is ended: reading the body would waste time.
    ///
    /// - Parameter bytes: So much of a body that is in memory is kept, for its words.
    func discard(length: Int64, keeping bytes: Int) {
        guard length == Int64(pointer.pointee.first_chunk) else { return giveUp() }
        pointer.pointee.state = Int32(
            bytes > 0 ? LH_FLOW_KEEP.rawValue : LH_FLOW_DISCARD.rawValue)
        pointer.pointee.upload.answer_limit = bytes
    }

    /// Makes the handle send this. The failure, if any, is how the request ends.
    func send(
        _ content: UploadBody.Content, _ upload: UploadBody, _ curl: CurlEasy
    ) -> WireFailure? {
        setContent(content)
        pointer.pointee.upload.may_repeat = upload.mayRepeat ? 1 : 0
        let failed = content.before.withUnsafeBufferPointer { before in
            content.after.withUnsafeBufferPointer { after in
                lh_flow_send(
                    pointer, curl.pointer, before.baseAddress, before.count, after.baseAddress,
                    after.count)
            }
        }
        return failed == 0 ? nil : .noMemory
    }

    private func setContent(_ content: UploadBody.Content) {
        pointer.pointee.upload.file_start = content.file.lowerBound
        pointer.pointee.upload.file_end = content.file.upperBound
        guard let pinned = content.pinned else { return }
        pointer.pointee.upload.is_pinned = 1
        pointer.pointee.upload.size = pinned.size
        pointer.pointee.upload.modified = pinned.modified
        pointer.pointee.upload.changed = pinned.changed
    }

    /// Keeps the beginning of the body of the answer to an upload.
    func keep() {
        pointer.pointee.state = Int32(LH_FLOW_KEEP.rawValue)
    }

    /// Bytes kept of the answer's body.
    var answer: [UInt8] {
        let upload = pointer.pointee.upload
        return Array(UnsafeBufferPointer(start: upload.answer, count: upload.answer_length))
    }

    /// Ends the request at the next piece of the body.
    func giveUp() {
        pointer.pointee.state = Int32(LH_FLOW_DISCARD.rawValue)
        pointer.pointee.outcome = Int32(LH_FLOW_REFUSED.rawValue)
    }

    /// The response came over a TLS connection of HTTP/1.1 whose end was not announced.
    var endsUnannounced: Bool {
        pointer.pointee.tls != nil && pointer.pointee.is_end_announced == 0
    }

    // MARK: - Time

    /// Monotonic nanoseconds of the latest progress.
    var touched: Int64 {
        get { pointer.pointee.touched }
        nonmutating set { pointer.pointee.touched = newValue }
    }

    /// libcurl works on the request; before, the request waits for a connection.
    var hasBegun: Bool { pointer.pointee.begun != 0 }

    var isConnecting: Bool { hasBegun && pointer.pointee.connected == 0 }

    // MARK: - Pauses

    /// The response is paused until the engine has committed the head's meaning.
    var isHeld: Bool { pointer.pointee.state == Int32(LH_FLOW_HELD.rawValue) }

    var isRatePaused: Bool { pointer.pointee.rate_paused != 0 }

    /// The response is paused after a slow write, for other requests.
    var isResting: Bool { pointer.pointee.rests_until != 0 }

    /// The response is paused here, so that no bytes can come.
    var isKeptSilent: Bool { isHeld || isRatePaused || isResting }

    /// The response has its own rate, or is paused by the total one.
    var isLimited: Bool { pointer.pointee.bucket.rate > 0 || isRatePaused }

    /// A rate applies to the response: its own or the total one.
    var isUnderRate: Bool { isLimited || lh_budget_rate(pointer.pointee.turn.pointee.budget) > 0 }
}
