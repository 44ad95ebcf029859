internal import LonghaulCore
internal import LonghaulStore

/// Requests at the same time that delete abandoned uploads.
private let uploadAbortsAtOnce = 4

/// Deletes abandoned uploads at servers. An attempt is recorded before its request is sent, its
/// success afterwards: the next engine repeats a request that a crash interrupted.
struct UploadAborts {
    private struct Attempt {
        var upload: AbandonedUpload
        var head: ResponseHead?
    }

    /// There may be new ones in the store.
    private var isStale = true
    /// When the next attempt is due.
    private var dueAt: Timestamp?
    /// The store could not be written.
    private var retryAt: Instant?
    private var active: [SegmentKey: Attempt] = [:]
    /// Attempts whose server has said whether it deletes uploads.
    private var answered: [AbandonedUpload] = []
    /// About which nothing more is done, and that is not recorded yet.
    private var settled: [Int64] = []

    /// Requests that are out.
    var keys: [SegmentKey] { active.keys.sorted { $0.serial < $1.serial } }

    mutating func markStale() { isStale = true }

    /// `false` = it is no request of this.
    mutating func recordHead(_ head: ResponseHead, of key: SegmentKey) -> Bool {
        guard active[key] != nil else { return false }
        active[key]?.head = head
        return true
    }

    /// `false` = it was no request of this.
    mutating func recordEnd(_ end: SegmentEnd, of key: SegmentKey) -> Bool {
        guard let attempt = active.removeValue(forKey: key) else { return false }
        let head = end.failure == nil ? attempt.head : nil
        let isStopped = end.failure == .stopped
        if !isStopped, let known = attempt.upload.afterQuestion(head) {
            answered.append(known)
        } else if !isStopped, attempt.upload.isSettled(by: head) {
            settled.append(attempt.upload.id)
        }
        isStale = true
        return true
    }

    /// Records ended requests and begins due ones.
    ///
    /// - Parameters:
    ///   - isLeaving: Nothing new is begun.
    ///   - takeSerials: See ``ActiveFetches/takeSerials()``.
    mutating func begin(
        _ writer: StoreWriter, isLeaving: Bool, now: Moment, takeSerials: () -> Int64
    ) -> [(ask: UploadAsk, request: TransferRequest)] {
        let isDue = isStale || dueAt.map { $0 <= now.wall } ?? false
        guard isDue, retryAt.map({ $0 <= now.monotonic }) ?? true else { return [] }
        // The next engine asks again.
        if isLeaving { answered = [] }
        let limit = isLeaving ? 0 : uploadAbortsAtOnce - active.count - answered.count
        var begun: [AbandonedUpload] = []
        var next: Timestamp?
        do throws(LonghaulError) {
            try writer.transaction(.relaxed) { tx in
                for id in settled { try tx.abandonedUploads.forget(id) }
                begun = try tx.abandonedUploads.begin(limit: limit, now: now.wall)
                next = try tx.abandonedUploads.nextDue()
            }
        } catch {
            retryAt = now.monotonic + Limits.commitRetrySeconds
            return []
        }
        (isStale, retryAt, settled, dueAt) = (false, nil, [], next)
        begun += answered
        answered = []
        return begun.compactMap { upload in
            guard let exchange = upload.exchange else {
                settled.append(upload.id)
                isStale = true
                return nil
            }
            let key = SegmentKey(fetch: upload.fetch, serial: takeSerials())
            active[key] = Attempt(upload: upload)
            return (UploadAsk(key: key, exchange: exchange), upload.request)
        }
    }

    func wakeAt(now: Moment) -> Instant? {
        if let retryAt { return retryAt }
        // Another abort begins when a request ends and leaves a place.
        if active.count >= uploadAbortsAtOnce { return nil }
        return isStale ? now.monotonic : dueAt.map { now.monotonic + max(0, $0 - now.wall) }
    }
}
