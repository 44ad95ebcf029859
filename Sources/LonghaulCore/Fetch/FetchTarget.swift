package import LonghaulModel

/// Purpose of a fetch: the transfer that leads it, and the settings merged from its subscribers.
package struct FetchTarget: Sendable {
    /// The leader of the transfers that share the fetch.
    package internal(set) var transfer: TransferID
    package internal(set) var request: TransferRequest
    /// Absolute path of the reserved destination.
    package internal(set) var destination: String
    package internal(set) var deadline: Timestamp?
    /// The file that another program has left at the destination.
    var continued: KeptFile? { request.options.continued.map(KeptFile.init) }
    /// Others wait for copies of the whole file.
    package internal(set) var isShared = false
    /// Kept apart from the request: it is asked for with each event.
    package let isUpload: Bool
    /// Proven digests of the file that this one is a copy of.
    package var proven: [Checksum] = []
    /// A file that may be copied if the server says that its version is the current one.
    package var kept: KeptFile?
    /// See ``Subscriber/partSuffix``.
    package var partSuffix = 0
    /// See ``PartOrder/leftSince``.
    package var leftSince: Timestamp?
    /// A program reads the bytes in order from here on as they come; `nil` = none reads.
    package internal(set) var readFrom: Int64?
    /// Why the attempt before this one gained nothing.
    package var lastError: LonghaulError?

    package init(
        transfer: TransferID, request: TransferRequest, destination: String, deadline: Timestamp?
    ) {
        self.transfer = transfer
        self.request = request
        self.destination = destination
        self.deadline = deadline
        isUpload = request.options.upload != nil
    }

    mutating func serve(_ subscribers: Subscribers) {
        transfer = subscribers.leader.id
        destination = subscribers.leader.destination
        deadline = subscribers.deadline
        request = subscribers.request
        isShared = subscribers.isShared
        readFrom = subscribers.readFrom
    }

    // MARK: - Sources

    /// The sources in the order they are tried.
    package var sources: [String] { [request.url] + request.options.mirrors }

    func url(ofSource source: Int) -> String {
        if request.options.mirrors.isEmpty { return request.url }
        let all = sources
        return all[source % all.count]
    }

    /// Requests that the fetch may have on the wire at a time, before the origin's budget.
    var connectionsMax: Int {
        // A reader waits for the next bytes: another connection would take its part of the line.
        if readFrom != nil { return 1 }
        return switch request.options.connections {
        // A limited transfer gains nothing by more.
        case .automatic: request.options.limitRate == nil ? Limits.automaticSegments : 1
        case .exactly(let count): min(max(1, count), Limits.segmentsPerFetch)
        }
    }

    var isConnectionCountAutomatic: Bool {
        guard case .automatic = request.options.connections else { return false }
        return true
    }

    /// The transfer takes only what others leave of the line.
    var isYielding: Bool { request.options.yields ?? request.isDiscretionary }

    // MARK: - The whole file

    /// Digests that the whole file must have, by the user and the server.
    func digests(reported: String?) -> [Checksum] {
        IntegrityPlan.digests(expected: request.options.checksum, reported: reported)
            .filter { !proven.contains($0) }
    }

    func mismatch(_ wanted: Checksum, actual: String, keptAt: String) -> LonghaulError {
        // The server's word is not for the user to check.
        let isExpected = wanted == request.options.checksum
        let (whose, suspects) =
            isExpected
            ? ("the expected \(wanted.hex)", "the expected value and the source")
            : ("\(wanted.hex), the digest that the server announced", "the source")
        return LonghaulError(
            .checksumMismatch,
            "the \(wanted.algorithm.rawValue) of the file is \(actual), not \(whose); "
                + "it is kept as \(keptAt); check \(suspects), then retry",
            transferID: transfer)
    }

    func skipped(keeping path: String) -> LonghaulError {
        LonghaulError(
            .destinationExists,
            "\(path) exists by now and was kept, as --if-exists skip says; what was fetched was "
                + "dropped", transferID: transfer)
    }

    /// Effect of a failure of this machine on the transfer.
    func leaving(after fault: LocalFault, bytesKept: Int64) -> FetchLeaving {
        var error = LonghaulError(
            fault.code, fault.message, transferID: transfer, retryable: true,
            bytesKept: bytesKept)
        if let need = fault.storageNeed, !request.options.failOnFullDisk {
            error.message = fault.messageWhileWaiting
            return .waitForStorage(error, needs: need)
        }
        if fault.isPassing { return .retry(Failure(.transient, error)) }
        return .fail(error)
    }

    // MARK: - The file of an upload

    /// Effect of the failure of an upload on the transfer.
    func leaving(afterUpload failure: Failure, bytesKept: Int64) -> FetchLeaving {
        switch failure.kind {
        case .transient, .restartFromZero: return .retry(failure)
        case .needsInput: return .needInput(failure.error)
        case .permanent:
            let restarts = request.options.upload?.ifChanged == .restart
            if failure.error.code == .sourceChanged, restarts {
                return .retry(Failure(.transient, failure.error))
            }
            return .fail(failure.error)
        case .waitForStorage, .localFault:
            let fault = LocalFault(code: failure.error.code, message: failure.error.message)
            return leaving(afterSource: fault, bytesKept: bytesKept)
        }
    }

    /// Effect of a failure of the source's disk, or of a change of the source while it was read.
    func leaving(afterSource fault: LocalFault, bytesKept: Int64) -> FetchLeaving {
        guard fault.code == .sourceChanged else {
            return leaving(after: fault, bytesKept: bytesKept)
        }
        let failure = Failure(.permanent, LonghaulError(fault.code, fault.message))
        return leaving(afterUpload: failure, bytesKept: bytesKept)
    }
}

/// Chooses the digests that a whole file must have before it is given its name: the user's, and the
/// one that the server announced.
package enum IntegrityPlan {
    package static func digests(expected: Checksum?, reported: String?) -> [Checksum] {
        var digests: [Checksum] = []
        if let expected { digests.append(expected) }
        if let reported = reported.flatMap(DigestField.checksum), reported != expected {
            digests.append(reported)
        }
        return digests
    }
}
