package import LonghaulModel

/// The part file, and the file that it becomes.
extension FetchFrame {
    package var finalDestination: String {
        bytes.state.finalDestination(of: target.request, at: target.destination)
    }

    /// A rename can give the part file to its leader.
    package var isAtHome: Bool { bytes.state.isBeside(target.destination) }

    package func part(needs: Int64?) -> PartOrder {
        PartOrder(target, bytes, publication: finalDestination, needs: needs)
    }

    /// Digests that the whole file must have, by the user and the server.
    var digests: [Checksum] {
        bytes.isErrorPage ? [] : target.digests(reported: bytes.state.validator?.digest)
    }

    /// The digests that the whole file was found to have.
    package var verified: [Checksum] { digests + target.proven }

    /// State of a copy of the whole file.
    package func copy(
        for subscriber: Subscriber, _ identity: FileIdentity, path: String, mountPoint: String?
    ) -> FetchState {
        bytes.copy(
            for: subscriber, isLeader: subscriber.id == target.transfer, identity, path: path,
            mountPoint: mountPoint)
    }

    /// The name is committed before the rename, so that a successor knows where to look for a file
    /// that was renamed and not recorded.
    func publish(as path: String) {
        precondition(bytes.state.isDurable, "only a whole and durable file is renamed")
        bytes.state.publication = path
        save()
        step.durable = true
        step.effects.append(
            .publish(
                PublicationOrder(
                    destination: path, wanted: finalDestination, target.request.options,
                    bytes.state.validator)))
    }

    /// The whole file has a wrong digest: gives up its bytes. Returns whether the transfer may
    /// begin again, with another source.
    func refute(keptAt: String) -> Bool {
        // Another server may have brought the wrong bytes: the file's own URL is tried once.
        let sources = target.sources.count
        let isOfSeveral = !isAtOwnOrigin || bytes.state.validator?.isOfSeveral == true
        let isForOwnURL = isOfSeveral && !bytes.state.isDigestRefuted
        // Then each mirror in its turn. Sources that fail meanwhile do not lead round for ever.
        let isAnyLeft =
            bytes.state.source % sources + 1 < sources && bytes.state.restarts <= sources
        if isForOwnURL { bytes.state.source = sources - 1 }
        if isForOwnURL || isAnyLeft { void(.digestDiffers) }
        bytes.forgetAll()
        bytes.state.isDigestRefuted = true
        bytes.state.partPath = keptAt
        return isForOwnURL || isAnyLeft
    }
}

extension FetchState {
    /// The part file, if there is one, is in the destination's directory.
    func isBeside(_ destination: String) -> Bool {
        partPath.isEmpty
            || FileNaming.directory(of: partPath).isExactly(FileNaming.directory(of: destination))
    }

    /// The reserved destination, or the server's name for it beside it where that was asked for.
    package func finalDestination(of request: TransferRequest, at destination: String) -> String {
        guard request.options.remoteName, let name = proposedName,
            let slash = destination.utf8.lastIndex(of: UInt8(ascii: "/"))
        else { return destination }
        return String(destination[..<destination.utf8.index(after: slash)]) + name
    }
}
