public import FoundationEssentials
public import LonghaulCore

/// The texts of an error for programs that have no command line of `longhaul`.
extension LonghaulError: LocalizedError {
    /// The ``message``, without options and commands of `longhaul`.
    public var errorDescription: String? { plainMessage }

    /// What a person can do about an error of this code; `nil` for codes of later versions.
    public var recoverySuggestion: String? { Self.suggestions[code] }

    private static let suggestions: [Code: String] = [
        .timedOut: "try again with a later deadline",
        .notFound: "give another URL, then resume",
        .forbidden: "give another URL, as the link may have expired, then resume",
        .unauthorized: "give the right user and password, then resume",
        .clientError: "check the URL and the header fields",
        .serverError: "try again later",
        .network: "check the network, then try again",
        .dns: "check the name of the server and the network",
        .tls: "check the certificates and this machine's clock",
        .checksumMismatch: "check the expected digest and the source, then try again",
        .destinationExists: "choose another name, or move the existing file away",
        .noSpace: "free some space on the disk",
        .io: "check the disk, then resume",
        .permission: "correct the permissions of the file and its directory, then resume",
        .tooLarge: "allow a larger file, or choose another disk",
        .unsupported: "choose another URL or other options",
        .invalidRequest: "correct the request",
        .sourceChanged: "upload the present version of the file",
        .invalidManifest: "correct the list of files at its source, or its signature",
        .cancelled: "try again if the file is still needed",
        .noSuchTransfer: "check the id of the transfer",
        .noSuchSession: "check the name of the session",
        .noSuchHost: "register the host, or check its name",
        .noSuchBundle: "check the name of the bundle",
        .noSuchFolder: "check the name of the folder",
        .noSuchTask: "check the identifier of the task",
        .notPermitted: "permit the identifier when the host is registered",
        .tooManyPendingTaskRequests: "cancel a request, or wait until one has run",
        .immediateRunIneligible: "submit the task so that it may wait, or submit it later",
        .unavailable: "repair the host's program, or register another one",
        .noSuchEvent: "check the number of the event",
        .conflict: "wait for the other transfer, or cancel it",
        .storeUnavailable: "check the disk and the permissions of the state directory",
        .sessionInvalidated: "open the session again",
        .internal: "try again, and report the message if it appears again",
    ]
}
