internal import LonghaulModel

/// Decides which errors of a server deliver their page as the file
/// (``TransferOptions/deliversErrorPages``).
package struct ErrorPages: Hashable, Sendable {
    /// See ``TransferOptions/retryStatus``.
    package var retryStatus: [Int]
    /// A failure that is tried again otherwise ends the transfer now.
    package var isLastAttempt: Bool

    /// - Parameters:
    ///   - retryStatus: Each is 400 to 599.
    ///   - isLastAttempt: The retries are used up.
    package init(retryStatus: [Int] = [], isLastAttempt: Bool = false) {
        assert(retryStatus.allSatisfy((400...599).contains), "only an error is tried again")
        self.retryStatus = retryStatus
        self.isLastAttempt = isLastAttempt
    }

    /// The failure would end the transfer, or make it wait for input.
    func delivers(_ failure: Failure) -> Bool {
        guard let status = failure.error.httpStatus, (400...599).contains(status) else {
            return false
        }
        switch failure.passing(for: retryStatus).kind {
        case .permanent, .needsInput: return true
        case .transient: return isLastAttempt
        case .waitForStorage, .restartFromZero, .localFault: return false
        }
    }
}

extension RangeRequest {
    /// A server may refuse a range with this status, and have the whole. The others are about
    /// credentials, the file, time or the number of requests.
    static func mayBeRefused(with status: Int) -> Bool {
        switch status {
        case 401, 404, 407, 408, 410, 425, 429: false
        default: (400...499).contains(status)
        }
    }
}
