package import LonghaulModel

/// Names of sessions, origins and numbered files that one insertion keeps; others are read
/// again.
private let rememberedNames = 4096
/// Numbers that `rename` tries for one name.
private let numberedNames = 1_000_000

/// Records transfers one by one inside one transaction, in bounded memory regardless of their
/// number.
///
/// A refusal (``LonghaulError``) of ``insert(_:isTaken:)`` restores the transaction to its state
/// before the call: the body may continue with the next item, or rethrow the error and record
/// nothing.
package final class TransferInserter {
    let connection: Connection
    let now: Timestamp
    /// `nil` = the caller may do what its user may.
    let review: RequestReview?
    private let live: Prepared
    /// `nil` = the store has none, as most have: they are not asked for each destination.
    private let failures: Prepared?
    var buffer = InsertBuffer()
    private var nextID: Int64
    let firstID: Int64
    private var sessions = SessionCache()
    private var origins = OriginCache()
    private var options = OptionsCache()
    private var schedules = ScheduleCache()
    /// Number to try next for a name that was taken before, so that a thousand equal names do not
    /// cost a million look-ups.
    private var nextNumbers: [ExactText: Int] = [:]
    private var inserted: [Int64: Int] = [:]

    /// The number of transfers recorded in this transaction.
    package private(set) var count = 0

    init(_ connection: Connection, now: Timestamp, _ review: RequestReview? = nil) throws {
        self.connection = connection
        self.now = now
        self.review = review
        nextID = try TransferRows(connection).nextTransferID()
        firstID = nextID
        live = try connection.prepare(
            """
            SELECT \(Reservation.columns), id, want FROM transfer \
            WHERE reservationKey = ?1 AND ended = 0
            """)
        let hasFailures =
            try connection.value(
                "SELECT 1 FROM transfer INDEXED BY transferFailed WHERE phase = 4 LIMIT 1") ?? false
        failures =
            hasFailures
            ? try connection.prepare(
                """
                SELECT \(Reservation.columns), id, rearm > rearmed AND want IN (0, 1) \
                FROM transfer INDEXED BY transferFailed WHERE reservationKey = ?1 AND phase = 4 \
                ORDER BY id DESC
                """) : nil
    }

    /// Records one transfer, unless it is there already (``repeated(_:holder:)``). Where its
    /// destination is reserved by a live transfer: with policy `rename` it gets the next
    /// `NAME (n).EXT` that is neither reserved nor `isTaken` on the disk, otherwise this throws
    /// `conflict`, naming the transfer.
    package func insert(
        _ new: NewTransfer, isTaken: (String) -> Bool = { _ in false }
    ) throws -> EnqueueOutcome {
        try review?.admit(new.request)
        let gid = new.request.options.gid
        if let gid { try GIDRows(connection).checkIsFree(gid) }
        var holder = try holder(of: new.reservation)
        if holder != nil, new.hasProvisionalName { holder = try twin(of: new) ?? holder }
        if let (id, destination) = try repeated(new, holder: holder) {
            return .existing(id, destination: destination)
        }
        var placed = new
        let awaited = try awaited(by: new.request.options)
        let identity = IdentityKey.of(new.request.url, origin: try originID(new.origin))
        var replaced = try duplicates(of: new, identity)
        if let other = try otherVersion(of: new), !replaced.contains(other) {
            guard new.request.options.onDuplicate == .replace, other.rawValue < firstID else {
                throw conflict(new, withVersion: other)
            }
            replaced.append(other)
        }
        if new.request.options.ifExists == .rename {
            if holder != nil || isTaken(new.path) {
                placed = try freeName(for: new, isTaken: isTaken)
            }
        } else if let holder, !replaced.contains(holder), try !makesRoom(holder, for: new) {
            guard new.hasProvisionalName else { throw try conflict(new, with: holder) }
            placed = try freeName(for: new, isTaken: isTaken)
        }
        if review?.takesUpFailed == false { replaced += try predecessors(of: new) }
        try cancel(replaced, for: nextID)
        let row = try row(placed, identity: identity, waits: !awaited.isEmpty)
        try SentFileRows(connection).forget(new.request)
        try TransferDependencies(connection).add(awaited, of: TransferID(rawValue: row.id))
        if let gid { try GIDRows(connection).add(gid, of: TransferID(rawValue: row.id)) }
        if let snapshot = new.snapshot { try SnapshotRows(connection).add(snapshot, of: row.id) }
        if buffer.append(row) { try buffer.flush(connection) }
        nextID += 1
        count += 1
        inserted[row.session, default: 0] += 1
        return .recorded(TransferID(rawValue: row.id), destination: placed.path)
    }

    /// Inserts the buffered rows and updates the tally. Called once, before the commit.
    func finish() throws {
        try buffer.flush(connection)
        for (session, count) in inserted {
            try connection.run(
                """
                INSERT INTO tally (sessionID, phase, want, pending, n) VALUES (?1, 0, 0, 0, ?2) \
                ON CONFLICT DO UPDATE SET n = n + ?2
                """, session, count)
        }
    }

    /// The live transfers that a new one is to wait for.
    func awaited(by options: TransferOptions) throws -> [TransferID] {
        // If nothing is recorded, the id of an item of the same batch names no transfer.
        if let id = options.after.first(where: { $0.rawValue >= firstID }) {
            throw LonghaulError.noSuchTransfer(id)
        }
        return try TransferDependencies(connection).open(
            among: options.after, anyEnd: options.afterAny)
    }

    private func row(
        _ placed: NewTransfer, identity: Int64, waits: Bool
    ) throws -> InsertBuffer.Row {
        var new = placed
        let session = try sessionRow(new.request)
        if session.isDiscretionary { new.request.isDiscretionary = true }
        if new.request.options.spread > 0 {
            try spread(TransferID(rawValue: nextID)).apply(to: &new.request, now: now)
        }
        let request = new.request
        let begin = max(now, request.earliestBegin ?? now)
        let origin = try originID(new.origin)
        let deadline = request.deadline.resolved(mayBegin: begin)
        let schedule = StoredSchedule(
            request, usesNetwork: !origins.last.isLoopback, begin: begin, deadline: deadline,
            waitsForTransfers: waits)
        // Nothing is waived yet.
        assert(
            schedule.requested.terms == schedule.eligibility.terms,
            "the terms are those asked for")
        return InsertBuffer.Row(
            id: nextID, new: new, schedule: schedule,
            calendar: try calendar(of: schedule.requested.terms), session: session.id,
            origin: origin, identityKey: identity, created: now,
            begin: begin, deadline: deadline, options: options.stored(request),
            notice: request.options.notifies ? firstID : nil)
    }

    /// The transfer with the same reservation: a live one, or a failed one that is about to be
    /// retried. One that is about to be cancelled is named only if there is no other.
    func holder(of reservation: Reservation) throws -> TransferID? {
        if let id = buffer.holder(of: reservation) { return id }
        let found = try rows(of: live, reservation, reservation.isExactly) { try $0.want(3) }
        if let holder = found.first(where: { !$0.value.isCancel }) { return holder.id }
        let failed = try failures(at: reservation)
        return failed.first(where: \.value)?.id ?? found.first?.id
    }

    /// Finds transfers that have failed with this reservation, the newest first.
    func failed(at reservation: Reservation) throws -> [TransferID] {
        try failures(at: reservation).map(\.id)
    }

    /// And whether they are about to be tried again.
    private func failures(
        at reservation: Reservation
    ) throws -> [(id: TransferID, value: Bool)] {
        guard let failures else { return [] }
        return try rows(of: failures, reservation, reservation.isExactly) { $0[3] }
    }

    /// A live upload of another version of the file to the same URL: whichever came last would stay
    /// there.
    func otherVersion(of new: NewTransfer) throws -> TransferID? {
        guard new.isUpload else { return nil }
        let wanted = new.reservation
        if buffer.holds(wanted) { try buffer.flush(connection) }
        let others = try rows(
            of: live, wanted, { $0.text.isExactly(wanted.text) && !$0.isExactly(wanted) },
            read: { try $0.want(3) })
        return others.first { !$0.value.isCancel }?.id
    }

    private func rows<Value>(
        of statement: Prepared, _ reservation: Reservation, _ isMeant: (Reservation) -> Bool,
        read: (StoredRow<Int>) throws -> Value
    ) throws -> [(id: TransferID, value: Value)] {
        statement.bind(1, reservation.key)
        defer { statement.reset() }
        var found: [(id: TransferID, value: Value)] = []
        while try statement.step() {
            let row = StoredRow<Int>(handle: statement.handle)
            if isMeant(Reservation(row, at: 0)) {
                found.append((row[2], try read(row)))
            }
        }
        return found
    }

    private func conflict(
        _ new: NewTransfer, with holder: TransferID
    ) throws -> LonghaulError {
        let (path, isUpload) = (new.path, new.isUpload)
        // If nothing is recorded, the id of an item of the same batch names no transfer.
        if holder.rawValue >= firstID {
            let url = try buffer.url(of: holder) ?? TransferRows(connection).url(of: holder)
            return LonghaulError(
                .conflict,
                isUpload
                    ? "\(path) goes to \(Redaction.url(url)) already, earlier in the same"
                        + " batch; leave one out"
                    : "\(path) is already the destination of \(Redaction.url(url)) earlier"
                        + " in the same batch; give each a name of its own, or --if-exists rename")
        }
        if isUpload {
            return LonghaulError(
                .conflict,
                "\(path) goes there already by transfer \(holder), which has not ended;"
                    + " wait for it (`longhaul wait \(holder)`), or cancel it first",
                transferID: holder)
        }
        return LonghaulError.taken(path, by: holder)
    }

    /// The transfer that has asked for the same before, under a numbered name: of several whose
    /// URLs end alike, only the first has the name that the URL gives.
    private func twin(of new: NewTransfer) throws -> TransferID? {
        let key = IdentityKey.of(new.request.url, origin: try originID(new.origin))
        let directory = FileNaming.directory(of: new.path)
        for (id, request) in try equals(of: new.request, key)
        where request.options.remoteName && request.session.isExactly(new.request.session)
            && request.url.isExactly(new.request.url)
        {
            let path = try WorkRecord.find(id, connection)?.path ?? ""
            if FileNaming.directory(of: path).isExactly(directory) { return id }
        }
        return nil
    }

    private func freeName(
        for new: NewTransfer, isTaken: (String) -> Bool
    ) throws -> NewTransfer {
        let path = new.path
        var number = nextNumbers[ExactText(path)] ?? 1
        while number <= numberedNames {
            let candidate = numberedPath(path, number)
            let realCandidate = new.realPath.map { numberedPath($0, number) }
            let reservation = Reservation(realCandidate ?? candidate)
            number += 1
            if try holder(of: reservation) == nil, !isTaken(candidate) {
                if nextNumbers.count >= rememberedNames { nextNumbers.removeAll() }
                nextNumbers[ExactText(path)] = number
                return new.moved(to: candidate, realPath: realCandidate)
            }
        }
        throw LonghaulError(.conflict, "there is no free name left for \(path)")
    }

    func spread(_ id: TransferID) throws -> StartSpread {
        let machine = try schedules.machinePlace ?? TaskRows(connection).place()
        schedules.machinePlace = machine
        return StartSpread(id, machine: machine)
    }

    private func calendar(of terms: EligibilityTerms) throws -> Int64 {
        if terms != schedules.calendar.terms {
            schedules.calendar = (terms, try CalendarRows(connection).place(of: terms))
        }
        return schedules.calendar.place
    }

    private func originID(_ name: String) throws -> Int64 {
        if origins.last.name == name { return origins.last.id }
        let id = try origins.ids[name] ?? TransferRows(connection).id(ofOrigin: name)
        origins.remember(name, id)
        return id
    }

    func sessionRow(_ request: TransferRequest) throws -> SessionRow {
        let name = request.session
        if sessions.last.name.isExactly(name),
            request.host == sessions.last.row.host || request.host == nil
        {
            return sessions.last.row
        }
        let row =
            try sessions.rows[ExactText(name)] ?? SessionRows(connection).row(of: name, now: now)
        sessions.remember(name, row)
        guard let host = request.host, host != row.host else {
            sessions.last = (name, row)
            return row
        }
        try SessionRows(connection).bind(row.id, to: host)
        sessions.rows[ExactText(name)] = nil
        return try SessionRows(connection).row(of: name, now: now)
    }
}

/// The path with its name numbered, see ``FileNaming/numbered(_:_:)``.
func numberedPath(_ path: String, _ number: Int) -> String {
    let name = path.utf8.lastIndex(of: 0x2F).map { path.utf8.index(after: $0) } ?? path.startIndex
    return path[..<name] + FileNaming.numbered(String(path[name...]), number)
}

extension LonghaulError {
    static func taken(_ destination: String, by holder: TransferID) -> LonghaulError {
        LonghaulError(
            .conflict,
            "\(destination) is already the destination of transfer \(holder), which"
                + " `longhaul resume \(holder)` goes on with; choose another one, give"
                + " --if-exists rename, or cancel that transfer first", transferID: holder)
    }
}

extension Deadline {
    /// The moment of the deadline, for a transfer that may begin at that moment.
    func resolved(mayBegin: Timestamp) -> Timestamp {
        switch self {
        case .at(let instant): instant
        case .after(let seconds): min(mayBegin + min(seconds, 1e11), .distantFuture)
        }
    }

    var instant: Timestamp? {
        switch self {
        case .at(let instant): instant
        case .after: nil
        }
    }

    var seconds: Double? {
        switch self {
        case .at: nil
        case .after(let seconds): seconds
        }
    }
}

/// Batches repeat their options: the text is made once for a run of equal ones. They are compared
/// in place, because a copy costs more; only options with facts of one file are copied.
private struct OptionsCache {
    private var shared = TransferRequest.standardOptions
    private var remoteName = false
    private var text: String?

    mutating func stored(_ request: TransferRequest) -> String? {
        let named =
            switch request.destination {
            case .file: request.sharedOptions.value.remoteName
            case .directory(_, let remoteName): remoteName
            }
        guard let facts = PerFileOptions(request.sharedOptions.value) else {
            return text(of: request.sharedOptions, named)
        }
        var others = request.options
        others.checksum = nil
        others.maxSize = nil
        return facts.stored(before: text(of: CopyOnWrite(others), named))
    }

    private mutating func text(
        of options: CopyOnWrite<TransferOptions>, _ named: Bool
    ) -> String? {
        if remoteName != named || !shared.isExactly(options) {
            shared = options
            remoteName = named
            var options = options.value
            options.remoteName = named
            text = options.stored
        }
        return text
    }
}

/// The stored forms of the schedules of a batch.
private struct ScheduleCache {
    var calendar: (terms: EligibilityTerms, place: Int64) = (EligibilityTerms(), 0)
    /// See ``StartSpread``.
    var machinePlace: Double?
}

/// The ids of the origins of a batch.
private struct OriginCache {
    var ids: [String: Int64] = [:]
    var last: (name: String, id: Int64, isLoopback: Bool) = ("", 0, false)

    mutating func remember(_ name: String, _ id: Int64) {
        if ids.count >= rememberedNames { ids.removeAll() }
        ids[name] = id
        last = (name, id, Loopback.isLoopback(origin: name))
    }
}

/// The rows of the sessions of a batch.
private struct SessionCache {
    var rows: [ExactText: SessionRow] = [:]
    var last = (name: "", row: SessionRow(id: 0))

    mutating func remember(_ name: String, _ row: SessionRow) {
        if rows.count >= rememberedNames { rows.removeAll() }
        rows[ExactText(name)] = row
    }
}
