public import FoundationEssentials
public import LonghaulCore

/// The text of `localizedDescription` is for programs that have no command line of `longhaul`.
extension LonghaulError: LocalizedError {
    /// The ``message``, without options and commands of `longhaul`.
    public var errorDescription: String? { plainMessage }
}
