internal import LonghaulCore
internal import LonghaulStore

/// Requests that are handed over together. A shorter input is recorded on the caller's thread.
private let requestsPerBatch = 256

/// A request on its way into the store, in the order of the requests.
enum AdmittedRequest: Sendable {
    case insert(NewTransfer)
    case settled(EnqueueOutcome)
    /// Nothing of the whole is to be recorded: a refusal that is not passed over, or the caller's
    /// own error. It takes its turn, so that an earlier request's conflict is the one reported.
    case stop(any Error)
}

/// Refusals of single requests that leave the others to be recorded.
package enum RefusalPolicy: Sendable {
    /// None: all are recorded or nothing is.
    case allOrNone
    /// Passes over refusals because the file exists.
    case passOverExisting
    /// Passes over conflicts with other transfers.
    case passOverConflicts
    /// Each.
    case keepGoing

    func passesOver(_ error: LonghaulError) -> Bool {
        switch self {
        case .allOrNone: false
        case .passOverExisting: error.code == .destinationExists
        case .passOverConflicts: error.code == .conflict
        case .keepGoing: true
        }
    }
}

/// Asks for requests and checks them, a batch at a time.
struct ValidatedRequests {

    let refusals: RefusalPolicy
    private var validator = RequestValidator()
    /// There is nothing after the last batch.
    private(set) var isAtEnd = false

    init(_ refusals: RefusalPolicy) {
        self.refusals = refusals
    }

    mutating func batch(from next: () throws -> TransferRequest?) -> [AdmittedRequest] {
        var batch: [AdmittedRequest] = []
        batch.reserveCapacity(requestsPerBatch)
        while batch.count < requestsPerBatch, !isAtEnd {
            do {
                guard let request = try next() else {
                    isAtEnd = true
                    break
                }
                batch.append(try admitted(request))
            } catch {
                batch.append(.stop(error))
                isAtEnd = true
            }
        }
        return batch
    }

    private mutating func admitted(_ request: TransferRequest) throws -> AdmittedRequest {
        do {
            switch try validator.admit(request) {
            case .skip(let destination): return .settled(.skipped(destination: destination))
            case .insert(let new): return .insert(new)
            }
        } catch  where refusals.passesOver(error) {
            return .settled(.refused(error))
        }
    }
}
