package import LonghaulCore

/// A transfer about to be recorded. Its maker has validated the request, taken the origin from its
/// URL and resolved the destination.
package struct NewTransfer: Sendable {
    package var request: TransferRequest
    /// Scheme, host and port of the request's URL, as in ``OriginMemory/origin``.
    package var origin: String
    /// Absolute path of the final file.
    package let destination: String
    /// The same path without links; `nil` = `destination` has none.
    package let realPath: String?
    /// See ``DestinationKey``.
    let destinationKey: Int64

    package init(
        request: TransferRequest, origin: String, destination: String, realPath: String? = nil
    ) {
        precondition(destination.isAbsolutePath, "a destination is absolute here")
        self.request = request
        self.origin = origin
        self.destination = destination
        self.realPath = realPath.isExactly(destination) ? nil : realPath
        destinationKey = DestinationKey.of(realPath ?? destination)
    }
}

/// The outcome of one item of a batch.
package enum EnqueueOutcome: Hashable, Sendable {
    /// Recorded, with its destination (under `rename` perhaps not the requested one).
    case recorded(TransferID, destination: String)
    /// It is this transfer again, which has not completed.
    case existing(TransferID, destination: String)
    case refused(LonghaulError)
}
