package import LonghaulModel

/// A transfer about to be recorded. Its maker has validated the request, taken the origin from its
/// URL and resolved the destination.
package struct NewTransfer: Sendable {
    package var request: TransferRequest
    /// Scheme, host and port of the request's URL, as in ``OriginMemory/origin``.
    package var origin: String
    /// Absolute path of the local file: the destination of a download, the source of an upload.
    package let path: String
    let isUpload: Bool
    let reservation: Reservation
    /// The snapshot that an upload sends in place of the user's file.
    package var snapshot: OrphanedPart?

    /// The server names the file in the end: another one may have the name that the URL gives.
    var hasProvisionalName: Bool { request.options.remoteName && !isUpload }

    /// A download.
    ///
    /// - Parameter realPath: The destination without links; `nil` = it has none.
    package init(
        request: TransferRequest, origin: String, destination: String, realPath: String? = nil
    ) {
        self.init(
            request, origin, destination, isUpload: false, Reservation(realPath ?? destination))
    }

    /// An upload.
    package init(
        request: TransferRequest, origin: String, source: String, reservation: Reservation
    ) {
        assert(!reservation.text.isAbsolutePath, "a download may reserve each path")
        self.init(request, origin, source, isUpload: true, reservation)
    }

    private init(
        _ request: TransferRequest, _ origin: String, _ path: String, isUpload: Bool,
        _ reservation: Reservation
    ) {
        precondition(path.isAbsolutePath, "the path of a file is absolute here")
        self.request = request
        self.origin = origin
        self.path = path
        self.isUpload = isUpload
        self.reservation = reservation
    }

    /// The destination of a download without links, if that is a different text.
    var realPath: String? {
        isUpload || reservation.text.isExactly(path) ? nil : reservation.text
    }

    /// The same download under another name.
    func moved(to destination: String, realPath: String?) -> NewTransfer {
        NewTransfer(request: request, origin: origin, destination: destination, realPath: realPath)
    }
}

extension WantWriter {
    /// Records a batch in one durable transaction: when this returns, the ids survive a power cut.
    /// Outcomes are in the order of the batch.
    ///
    /// A destination that a live transfer or an earlier item has reserved is a `conflict`: thrown,
    /// with nothing recorded, or with `keepGoing` reported for its item while the others are
    /// recorded. See ``TransferInserter/insert(_:isTaken:)`` for `isTaken`.
    package func enqueue(
        _ batch: [NewTransfer], now: Timestamp, keepGoing: Bool = false,
        isTaken: (String) -> Bool = { _ in false }
    ) throws(LonghaulError) -> [EnqueueOutcome] {
        do {
            return try enqueue(now: now) { inserter in
                var outcomes: [EnqueueOutcome] = []
                outcomes.reserveCapacity(batch.count)
                for new in batch {
                    do {
                        outcomes.append(try inserter.insert(new, isTaken: isTaken))
                    } catch let refusal as LonghaulError where keepGoing {
                        outcomes.append(.refused(refusal))
                    }
                }
                return outcomes
            }
        } catch {
            throw StoreFailure.translate(error, path: store.location.database)
        }
    }

    /// The same for any number of transfers, in bounded memory: the body inserts them one after the
    /// other, as it reads them. If the body throws, the error is passed on, and nothing is
    /// recorded. Other writers wait meanwhile.
    package func enqueue<Value>(
        now: Timestamp, review: RequestReview? = nil, _ body: (TransferInserter) throws -> Value
    ) throws -> Value {
        do {
            try store.access { try $0.run("PRAGMA cache_size=-49152") }
            defer { try? store.access { try $0.run("PRAGMA cache_size=-4096") } }
            return try store.writeUntranslated(.durable) { connection in
                let inserter = try TransferInserter(connection, now: now, review)
                let value = try body(inserter)
                try inserter.finish()
                return value
            }
        } catch let error as SQLiteError {
            throw StoreFailure.translate(error, path: store.location.database)
        }
    }
}

extension SentFile {
    /// `nil` for a download.
    package init?(_ new: NewTransfer) {
        guard new.isUpload,
            let version = new.reservation.version ?? new.request.options.upload?.source?.text
        else { return nil }
        self.init(new.request, path: new.path, version: version)
    }
}
