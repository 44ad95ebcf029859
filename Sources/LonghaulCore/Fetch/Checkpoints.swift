package import LonghaulModel

/// When received bytes are made durable, and which are being.
struct Checkpoints: Sendable {
    /// Bytes that the sync under way will have made durable.
    private(set) var syncing: PendingSync?
    /// Requests that have ended and whose bytes no checkpoint covers yet. Their cells stay on the
    /// board: a successor in this boot has no other record of their bytes.
    private(set) var retired: [SegmentKey] = []
    private(set) var lastCheckpoint: Instant?
    private var lastTick: Instant?
    /// When to record the version of bytes that were let in at once.
    var pinDue: Instant?
    private var nextToken: Int64 = 1

    /// The part file is open: nothing is unsynced.
    mutating func start(at now: Instant) {
        lastCheckpoint = now
    }

    mutating func ticked(at now: Instant) {
        lastTick = now
    }

    mutating func retire(_ key: SegmentKey) {
        assert(!retired.contains(key), "a request ends once")
        retired.append(key)
    }

    /// Returns the token of the sync that is to be made.
    mutating func beginSync(of have: ByteRanges) -> Int64 {
        precondition(syncing == nil, "one sync at a time")
        let token = nextToken
        syncing = PendingSync(token: token, covers: have, retired: retired.count)
        nextToken += 1
        return token
    }

    /// `nil` = a restart or an earlier failure has voided it.
    mutating func endSync(_ token: Int64) -> PendingSync? {
        guard let pending = syncing, pending.token == token else { return nil }
        syncing = nil
        return pending
    }

    /// Drops all checkpoints: the bytes written are of no more use. Returns the requests whose
    /// cells are not needed after the next commit.
    mutating func void() -> [SegmentKey] {
        syncing = nil
        return release(first: retired.count)
    }

    /// Returns the requests whose cells are not needed after the next commit.
    mutating func release(first count: Int) -> [SegmentKey] {
        assert(count <= retired.count, "what a sync covers is retired until it has ended")
        defer { retired.removeFirst(count) }
        return Array(retired.prefix(count))
    }

    func isDue(unsynced: Int64, at now: Instant) -> Bool {
        guard syncing == nil, unsynced > 0 else { return false }
        if unsynced >= Limits.checkpointBytes { return true }
        guard let lastCheckpoint else { return true }
        return now - lastCheckpoint >= Limits.checkpointSeconds
    }

    /// The version is to be recorded now. True once.
    mutating func pinFallsDue(at now: Instant) -> Bool {
        guard let pinDue, pinDue <= now else { return false }
        self.pinDue = nil
        return true
    }

    func nextTick(after pause: Double) -> Instant? {
        [(lastTick ?? lastCheckpoint).map { $0 + pause }, pinDue].compactMap(\.self).min()
    }
}

/// A sync under way, and the bytes that it covers.
package struct PendingSync: Hashable, Sendable {
    package var token: Int64
    package var covers: ByteRanges
    /// Number of retired requests, from the first one on, that the sync covers.
    package var retired: Int
}

extension FetchBytes {
    func isCheckpointDue(at now: Instant) -> Bool {
        guard state.validator != nil else { return false }
        return checkpoints.isDue(unsynced: have.count - state.durable.count, at: now)
    }
}
