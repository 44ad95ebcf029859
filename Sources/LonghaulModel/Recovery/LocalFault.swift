/// A failure of this machine: its disk, its permissions.
package struct LocalFault: Hashable, Sendable {
    package var code: LonghaulError.Code
    package var message: String
    /// The machine is short of something for a moment: tried again with back-off.
    package var isPassing: Bool
    /// Another program has the name of the file in use: that may last.
    package var isBusy = false
    /// Mount point of the disk that holds the part file, if it is not mounted.
    package private(set) var unmounted: String?
    private var isBegun = true
    /// New end of the part file: it was cut off, and the bytes held behind it are gone.
    package private(set) var cutAt: Int64?

    package init(code: LonghaulError.Code, message: String, isPassing: Bool = false) {
        self.code = code
        self.message = message
        self.isPassing = isPassing
    }

    /// The disk has not got the bytes that are to come, whether the server said so or only the
    /// user.
    package init(needed: Int64, available: Int64, for destination: String, isExpected: Bool) {
        let disk = "the disk that holds \(destination)"
        let what: String
        if available <= 0 {
            what = "is full; free some space, then resume"
        } else {
            let lack = SizeText.shown(needed - available)
            let start = "lacks \(lack) for the \(SizeText.shown(needed)) that "
            what =
                start
                + (isExpected
                    ? "are expected (see --expect); free some space, or correct that with "
                        + "`set --expect`, then resume"
                    : "are to come; free some space, then resume")
        }
        self.init(code: .noSpace, message: "\(disk) \(what)")
    }

    /// - Parameter isBegun: The disk has bytes of the file.
    package init(unmounted mountPoint: String, isBegun: Bool = true) {
        let what = isBegun ? "holds what was fetched" : "was to have the file"
        self.init(
            code: .io,
            message: "the disk that was mounted at \(mountPoint), and \(what), is not mounted; "
                + "mount it, then resume")
        unmounted = mountPoint
        self.isBegun = isBegun
    }

    package init(cutOff path: String, at size: Int64) {
        self.init(
            code: .io,
            message: "\(path) is shorter than what was written to it: it was cut off; "
                + "retry the transfer, which fetches what is missing again")
        cutAt = size
    }

    /// The missing storage, if it can be waited for.
    package var storageNeed: StorageNeed? {
        if unmounted != nil { return .disk }
        return code == .noSpace ? .space : nil
    }

    /// Message for a transfer that resumes by itself.
    package var messageWhileWaiting: String {
        guard let unmounted else { return message }
        let away = "the one that was mounted at \(unmounted) is not mounted; mount it, or "
        return away
            + (isBegun
                ? "begin anew without it: `cancel`, then `retry`"
                : "choose another place: `set -o`; `cancel`, then `retry`, takes the disk below")
    }
}

/// Storage that a transfer waits for.
package enum StorageNeed: String, Hashable, Sendable {
    case space = "free space"
    /// The one that its part file is on.
    case disk = "its disk"
}

extension TransferRequest {
    /// True if the file may have another name than it was to have: `--if-exists rename` where that
    /// is taken, and where the disk refuses it, one that the server has chosen.
    package func mayHaveOtherName(for fault: LocalFault) -> Bool {
        fault.code == .destinationExists ? options.ifExists == .rename : options.remoteName
    }
}
