internal import LonghaulCore
internal import LonghaulStore

/// One request on its way into the store, in the order of the requests.
enum AdmittedRequest: Sendable {
    case insert(NewTransfer)
    case settled(EnqueueOutcome)
    /// Nothing of the whole is to be recorded: a refusal that is not passed over, or the caller's
    /// own error. It takes its turn, so that an earlier request's conflict is the one reported.
    case stop(any Error)
}

/// Asks for requests and checks them, a batch at a time.
struct ValidatedRequests {

    let keepGoing: Bool
    private var validator = RequestValidator()
    /// There is nothing after the last batch.
    private(set) var isAtEnd = false

    init(keepGoing: Bool) {
        self.keepGoing = keepGoing
    }

    mutating func batch(from next: () throws -> TransferRequest?) -> [AdmittedRequest] {
        var batch: [AdmittedRequest] = []
        batch.reserveCapacity(Limits.requestsPerBatch)
        while batch.count < Limits.requestsPerBatch, !isAtEnd {
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
        } catch  where keepGoing {
            return .settled(.refused(error))
        }
    }
}
