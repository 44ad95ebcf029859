import Longhaul
import LonghaulPlatform

extension InputContext {
    static func current() -> InputContext {
        InputContext(
            now: SystemClock.now().wall, secondsFromUTC: LocalClock.secondsFromUTC,
            directory: Result { () throws(LonghaulError) in try CurrentDirectory.path },
            proxyVariables: ProxyVariables.ofCommand.isEmpty ? nil : ProxyVariables.ofCommand)
    }
}

/// A request without a URL.
struct RequestTemplate {
    var request: TransferRequest
    /// Absolute; `.` if there is no current directory, in which case a request without a directory
    /// of its own is refused.
    var directory: String
    /// Absolute; the file of the one URL.
    var file: String?

    init(directory: String) {
        self.directory = directory
        request = TransferRequest(url: "", destination: .directory(directory, remoteName: false))
    }

    /// The destination of a URL without a destination of its own.
    var destination: Destination {
        file.map { .file($0) } ?? .directory(directory, remoteName: request.options.remoteName)
    }

    /// Refuses an invalid URL; the queue validates the rest.
    func request(url: String) throws(LonghaulError) -> TransferRequest {
        var request = request
        request.url = try OptionText.url(url)
        request.destination = destination
        return request
    }

}

extension ProxyVariables {
    /// Proxy variables of this command, as they were at the first access.
    static let ofCommand = ProxyVariables(Environment.value)

    /// A transfer is recorded with the proxy variables of the command that enqueues it. An engine
    /// within a command, or started by it, serves other transfers, too, to which these do not
    /// apply.
    static func dropOfCommand() {
        _ = ofCommand
        Environment.remove(ProxyVariables.names)
    }
}
