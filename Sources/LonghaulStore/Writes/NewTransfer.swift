package import LonghaulCore

/// A transfer about to be recorded. Whoever makes it has checked the request, found the origin in
/// its URL and resolved the destination.
package struct NewTransfer: Sendable {
    package var request: TransferRequest
    /// Scheme, host and port of the request's URL, as in ``OriginMemory/origin``.
    package var origin: String
    /// Absolute path of the final file.
    package let destination: String
    /// Its one path, whatever links lead to it; `nil` = `destination` is that.
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

/// What became of one item of a batch.
package enum EnqueueOutcome: Hashable, Sendable {
    /// Recorded, under the destination that it got (another than asked where `rename` found a free
    /// one).
    case recorded(TransferID, destination: String)
    /// It is this transfer again, which has not completed.
    case existing(TransferID, destination: String)
    case refused(LonghaulError)
}
