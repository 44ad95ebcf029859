package import LonghaulModel

package struct PartOrder: Hashable, Sendable {
    package var destination: String
    package var transfer: TransferID
    /// The part file that must be found, if one was made.
    package var expected: FileIdentity?
    package var path: String
    /// Disk of the part file, made or to be made, if known.
    package var disk: MountedDisk?
    /// Path of the part file if it was renamed and that was not recorded.
    package var publication: String
    /// Bytes still to come, as far as known: refused if the disk has not got them.
    package var needs: Int64?
    /// Bytes that are in the part file.
    package var held: Int64 = 0
    /// End of the last byte held.
    package var heldEnd: Int64 = 0
    /// Known only from the user's expectation.
    package var isNeedExpected = false
    /// A write has found the disk full before: the room that it reports is believed.
    package var isRoomBelieved = false
    /// Discretionary: the disk and its cache belong to others first.
    package var isBackground = false
    /// See ``Subscriber/partSuffix``.
    package var partSuffix = 0
    /// A crash came before its part file was recorded: what has its name, and has been made since
    /// then, is that.
    package var leftSince: Timestamp?

    package init(
        destination: String, transfer: TransferID, expected: FileIdentity?, path: String,
        publication: String, needs: Int64?
    ) {
        self.destination = destination
        self.transfer = transfer
        self.expected = expected
        self.path = path
        self.publication = publication
        self.needs = needs
    }

    /// - Parameter publication: Where the file may stand unless something else is recorded.
    init(_ target: FetchTarget, _ bytes: FetchBytes, publication: String, needs: Int64?) {
        self.init(
            destination: target.destination, transfer: target.transfer,
            expected: bytes.state.partIdentity, path: bytes.state.partPath,
            publication: bytes.state.publication ?? publication, needs: needs)
        held = bytes.have.count
        heldEnd = bytes.have.ranges.last?.upperBound ?? 0
        assert(held <= heldEnd, "what is held ends with its last byte")
        isRoomBelieved = target.lastError?.code == .noSpace
        isBackground = target.request.isDiscretionary
        disk = expected == nil ? target.request.options.disk : bytes.state.partDisk
        partSuffix = target.partSuffix
        leftSince = target.leftSince
    }
}

package struct PublicationOrder: Hashable, Sendable {
    /// The name to take now.
    package var destination: String
    /// The name that was asked for: another one is numbered after it.
    package var wanted: String
    package var policy: ExistingFilePolicy
    /// The modification time that the file gets; `nil` = it keeps its own.
    package var modified: Timestamp?
    /// The file that is replaced if it has not changed.
    package var continued: KeptFile?

    package init(destination: String, wanted: String, policy: ExistingFilePolicy) {
        self.destination = destination
        self.wanted = wanted
        self.policy = policy
    }

    init(
        destination: String, wanted: String, _ options: TransferOptions, _ validator: Validator?
    ) {
        self.init(destination: destination, wanted: wanted, policy: options.ifExists)
        if options.remoteTime { modified = validator?.modified }
        continued = options.continued.map(KeptFile.init)
    }
}

/// A copy of a fetch's whole part file, for a transfer that shares the fetch.
package struct CopyOrder: Hashable, Sendable {
    package var transfer: TransferID
    /// Path beside which the copy is made, under the transfer's own part name.
    package var destination: String
    /// See ``Subscriber/partSuffix``.
    package var partSuffix: Int

    package init(transfer: TransferID, destination: String, partSuffix: Int = 0) {
        self.transfer = transfer
        self.destination = destination
        self.partSuffix = partSuffix
    }
}

package struct SegmentAsk: Hashable, Sendable {
    package var key: SegmentKey
    package var url: String
    package var ask: RangeRequest
    package var pinned: Validator?
    package var maxSize: Int64?
    /// Asked for unless the version of a file that is here is still the current one.
    package var condition = HeaderFields()
    /// The URL is not the request's own: its credentials are not for another server.
    package var isForMirror: Bool { ask.isForMirror }
    /// The request is one of several at a time: only a 206 under the pinned validator is useful, on
    /// a separate connection.
    package var isParallel: Bool

    package init(
        key: SegmentKey, url: String, ask: RangeRequest, pinned: Validator?, maxSize: Int64?,
        isParallel: Bool
    ) {
        self.key = key
        self.url = url
        self.ask = ask
        self.pinned = pinned
        self.maxSize = maxSize
        self.isParallel = isParallel
    }
}

/// A request of an upload.
package struct UploadAsk: Hashable, Sendable {
    package var key: SegmentKey
    package var exchange: UploadExchange

    package init(key: SegmentKey, exchange: UploadExchange) {
        self.key = key
        self.exchange = exchange
    }
}
