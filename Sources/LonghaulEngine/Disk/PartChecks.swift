internal import LonghaulCore
internal import LonghaulPlatform

/// Smallest file that is searched for missing bytes in the middle.
private let holeLookBytes: Int64 = 64 << 10
/// A hole begins with the first block that is all zeros; those before it are no longer than
/// this, or than the file system says that a block is.
private let holeMarginBytes: Int64 = 128 << 10

/// Checks that a part file still has the bytes written to it. All checks read synced bytes.
enum PartChecks {
    /// A file that was truncated while it was written soon has its old length again, with zeros in
    /// place of the lost bytes. They form a hole, which written bytes never do. The hole begins
    /// with the first block of zeros, so the file is cut off well before it, and the next attempt
    /// fetches the missing bytes.
    static func gap(in part: PartFile, before length: Int64) throws(SystemFailure) -> LocalFault? {
        guard length >= holeLookBytes, let hole = part.firstHole, hole < length
        else { return nil }
        let end = max(0, hole - max(try part.blockSize(), holeMarginBytes))
        assert(end <= hole, "a file is never made longer")
        try part.truncate(to: end)
        return LocalFault(cutOff: part.path, at: end)
    }

    /// An abandoned longer version may have left its tail. A file that is too short is never
    /// extended: the missing bytes would be zeros.
    static func fit(_ part: PartFile, to length: Int64) throws(SystemFailure) -> LocalFault? {
        let size = try part.size()
        if size > length { try part.truncate(to: length) }
        if size >= length { return nil }
        return LocalFault(cutOff: part.path, at: size)
    }

    /// Tells what became of a part file that another program has moved or deleted; `nil` = the file
    /// is in its place. Each checkpoint checks this: else hours could be spent on writing to
    /// nowhere.
    static func displacement(of part: PartFile) -> FetchEvent? {
        switch part.place {
        case .inPlace: nil
        case .elsewhere where part.disk?.isAway(from: part.directory.path) == true:
            .displaced(LocalFault(unmounted: part.directory.mountPoint ?? ""), isGone: false)
        case .elsewhere:
            .displaced(
                LocalFault(
                    code: .io,
                    message:
                        "\(part.path) is gone from its place: it, or its directory, was moved; "
                        + "bring it back, then resume"), isGone: false)
        case .gone:
            .displaced(
                LocalFault(
                    code: .io,
                    message:
                        "\(part.path) was deleted while it was written, and its bytes are lost; "
                        + "retry the transfer"), isGone: true)
        }
    }
}
