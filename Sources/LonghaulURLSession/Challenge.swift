#if !canImport(Darwin)
internal import Foundation
internal import FoundationNetworking
internal import Longhaul

/// Answers to challenges that a task sends again with, at most.
private let challengesMax = 5
/// Bytes of an error's page in which a reason is looked for.
private let errorPageReadBytes = 4 << 10

/// A challenge of a server that ended a transfer: the delegate is asked, and with a credential the
/// task begins again.
struct Challenge: Sendable {
    enum Kind: Equatable {
        case password(HTTPAuthentication)
        case clientCertificate
        case serverTrust
    }

    let kind: Kind
    let authentication: URLAuthenticationChallenge

    /// It is about the connection, not about the task: TLS.
    var isOfConnection: Bool {
        switch kind {
        case .password: false
        case .clientCertificate, .serverTrust: true
        }
    }

    /// `nil`: no challenge has ended the transfer.
    ///
    /// - Parameter error: Of the transfer; `nil` where the page of its answer is its file.
    init?(
        _ transfer: Transfer, _ error: LonghaulError?, _ task: BackgroundURLSessionTask,
        _ storage: URLCredentialStorage?
    ) {
        guard let url = URL(string: transfer.response?.url ?? transfer.url), let host = url.host,
            let kind = Kind(transfer, error)
        else { return nil }
        self.kind = kind
        let header = transfer.response?.headers["WWW-Authenticate"] ?? ""
        let space = URLProtectionSpace(
            host: host, port: url.port ?? (url.scheme == "http" ? 80 : 443),
            protocol: url.scheme, realm: Self.realm(header), authenticationMethod: kind.method)
        authentication = URLAuthenticationChallenge(
            protectionSpace: space, proposedCredential: storage?.defaultCredential(for: space),
            previousFailureCount: task.now.credentials.count,
            failureResponse: transfer.urlResponse,
            error: error.map { URLError($0, url) }, sender: NoSender.shared)
    }

    /// The text of `realm="…"`.
    private static func realm(_ header: String) -> String? {
        guard let start = header.range(of: "realm=\"", options: .caseInsensitive) else {
            return nil
        }
        return String(header[start.upperBound...].prefix { $0 != "\"" })
    }
}

extension Challenge.Kind {
    init?(_ transfer: Transfer, _ error: LonghaulError?) {
        if (error?.httpStatus ?? transfer.response?.statusCode) == 401 {
            let header = transfer.response?.headers["WWW-Authenticate"]?.lowercased() ?? ""
            self = .password(header.contains("digest") ? .digest : .basic)
        } else if error?.code == .tls, error?.curlCode == 60 || error?.curlCode == 51 {
            self = .serverTrust
        } else if error?.code == .tls, transfer.options.clientCertificate == nil {
            // Before TLS 1.3 a server may say no more than that the handshake failed.
            self = .clientCertificate
        } else if transfer.lacksCertificate(error) {
            self = .clientCertificate
        } else {
            return nil
        }
    }

    fileprivate var method: String {
        switch self {
        case .password(.digest): NSURLAuthenticationMethodHTTPDigest
        case .password: NSURLAuthenticationMethodHTTPBasic
        case .clientCertificate: NSURLAuthenticationMethodClientCertificate
        case .serverTrust: NSURLAuthenticationMethodServerTrust
        }
    }
}

extension Transfer {
    /// nginx answers so, with 400, to a client that has shown no certificate.
    fileprivate func lacksCertificate(_ error: LonghaulError?) -> Bool {
        guard url.lowercased().hasPrefix("https:"), options.clientCertificate == nil,
            (error?.httpStatus ?? response?.statusCode) == 400
        else { return false }
        var words = error?.message ?? ""
        if error == nil, let destination, let file = FileHandle(forReadingAtPath: destination) {
            defer { try? file.close() }
            let page = try? file.read(upToCount: errorPageReadBytes)
            words = String(decoding: page ?? Data(), as: UTF8.self)
        }
        return words.lowercased().contains("no required ssl certificate")
    }
}

/// Sender of challenges. They are answered by the completion handler alone.
private final class NoSender: NSObject, URLAuthenticationChallengeSender {
    static let shared = NoSender()

    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
    func cancel(_ challenge: URLAuthenticationChallenge) {}
    func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
}

/// The credentials that a task was given for challenges.
struct TaskCredentials: Sendable {
    var count = 0
    /// `user:password`.
    var user: String?
    var scheme = HTTPAuthentication.basic
    /// The file with the client's certificate and key.
    var identity: String?
    /// The certificate of the server is not verified.
    var trustsServer = false
}

extension OpenSession {
    /// Returns true where the delegate has answered a challenge: the task began again, or was
    /// cancelled.
    func isAskedAgain(_ task: BackgroundURLSessionTask, _ transfer: Transfer) async -> Bool {
        let error = transfer.state == .completed ? nil : task.now.refusal ?? transfer.error
        let storage = owner.configuration.urlCredentialStorage
        guard task.state == .running, task.now.credentials.count < challengesMax,
            let challenge = Challenge(transfer, error, task, storage)
        else { return false }
        let (disposition, credential) = await calls.challenged(task, challenge)
        switch disposition {
        case .performDefaultHandling, .rejectProtectionSpace: return false
        case .cancelAuthenticationChallenge:
            task.update { $0.response = transfer.urlResponse }
            await calls.end(task, LonghaulError(.cancelled, "the challenge was cancelled"))
        case .useCredential:
            guard let credential,
                let answer = credentials(of: task, with: credential, for: challenge.kind)
            else { return false }
            if credential.persistence != .none {
                storage?.set(credential, for: challenge.authentication.protectionSpace)
            }
            task.update { facts in
                facts.credentials = answer
                facts.refusal = nil
                facts.id = nil
            }
            do {
                try await record(task)
            } catch {
                await owner.giveUp(task, error)
            }
        }
        discard(transfer.destination)
        return true
    }

    /// `nil`: the credential is none for such a challenge.
    private func credentials(
        of task: BackgroundURLSessionTask, with credential: URLCredential,
        for kind: Challenge.Kind
    ) -> TaskCredentials? {
        var answer = task.now.credentials
        answer.count += 1
        switch kind {
        case .password(let scheme):
            guard let user = credential.user, let password = credential.password else { return nil }
            answer.user = "\(user):\(password)"
            answer.scheme = scheme
        case .clientCertificate:
            guard let identity = credential as? ClientCertificateCredential,
                let path = write(identity, for: task)
            else { return nil }
            answer.identity = path
        case .serverTrust: answer.trustsServer = true
        }
        return answer
    }

    /// Writes certificate and key into a file that only the user reads, until the task's end.
    private func write(
        _ identity: ClientCertificateCredential, for task: BackgroundURLSessionTask
    ) -> String? {
        let path = identityPath(of: task)
        let text =
            identity.clientCertificate.pem("CERTIFICATE") + identity.clientKey.pem("PRIVATE KEY")
        let isWritten = FileManager.default.createFile(
            atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
        return isWritten ? path : nil
    }

    func discardIdentity(of task: BackgroundURLSessionTask) {
        try? FileManager.default.removeItem(atPath: identityPath(of: task))
    }

    private func identityPath(of task: BackgroundURLSessionTask) -> String {
        incoming.appending(path: "identity-\(task.taskIdentifier).pem").path
    }
}

extension Data {
    /// As PEM, unless it is that already.
    fileprivate func pem(_ label: String) -> String {
        let text = String(decoding: self, as: UTF8.self)
        if text.hasPrefix("-----BEGIN") { return text.hasSuffix("\n") ? text : text + "\n" }
        let lines = base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN \(label)-----\n\(lines)\n-----END \(label)-----\n"
    }
}
#endif
