public import FoundationEssentials
public import LonghaulCore

/// What `localizedDescription` says: in a program of somebody else's, without the command line.
extension LonghaulError: LocalizedError {
    /// The ``message``, without options and commands of `longhaul`.
    public var errorDescription: String? { plainMessage }
}
