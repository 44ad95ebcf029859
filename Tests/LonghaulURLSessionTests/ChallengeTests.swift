import Foundation
import Longhaul
import LonghaulTestSupport
import LonghaulURLSession
import Synchronization
import Testing

/// Servers that ask who is there, and are asked.
@Suite(.timeLimit(.minutes(60))) struct ChallengeTests {
    /// Answers challenges, and records them.
    private final class Login: NSObject, URLSessionTaskDelegate {
        let answer: @Sendable (URLAuthenticationChallenge) -> URLCredential?
        let asked = Mutex<[String]>([])
        let metrics = Mutex<URLSessionTaskMetrics?>(nil)

        init(_ answer: @escaping @Sendable (URLAuthenticationChallenge) -> URLCredential?) {
            self.answer = answer
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask,
            didReceive challenge: URLAuthenticationChallenge,
            completionHandler:
                @escaping @Sendable (
                    URLSession.AuthChallengeDisposition, URLCredential?
                ) -> Void
        ) {
            let space = challenge.protectionSpace
            asked.withLock {
                $0.append("\(space.authenticationMethod) \(challenge.previousFailureCount)")
            }
            let credential = answer(challenge)
            completionHandler(
                credential == nil ? .performDefaultHandling : .useCredential, credential)
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask,
            didFinishCollecting metrics: URLSessionTaskMetrics
        ) {
            self.metrics.withLock { $0 = metrics }
        }
    }

    private func session(
        _ scratch: Scratch, _ edit: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        let configuration = URLSessionConfiguration.background(withIdentifier: "com.example.login")
        configuration.store = scratch("state")
        configuration.urlCredentialStorage = nil
        edit(configuration)
        return URLSession(configuration: configuration)
    }

    @Test func aPasswordIsAskedFor() async throws {
        let scratch = try Scratch("login")
        let session = session(scratch)
        try await LoopbackServer.run { server in
            let url = try #require(URL(string: server.url("a.bin?size=20K&auth=anna:secret")))
            let login = Login { challenge in
                #expect(challenge.protectionSpace.realm == "longhaul")
                #expect(challenge.protectionSpace.host == "127.0.0.1")
                let password = challenge.previousFailureCount == 0 ? "wrong" : "secret"
                return URLCredential(user: "anna", password: password, persistence: .none)
            }
            let (data, response) = try await session.data(from: url, delegate: login)
            #expect(data.count == 20 << 10)
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
            let basic = NSURLAuthenticationMethodHTTPBasic
            #expect(login.asked.withLock { $0 } == ["\(basic) 0", "\(basic) 1"])
            #expect(server.log.all.count == 3)

            let metrics = try #require(login.metrics.withLock { $0 })
            let transaction = try #require(metrics.transactionMetrics.last)
            #expect(metrics.transactionMetrics.count == 1 && metrics.redirectCount == 0)
            #expect(transaction.networkProtocolName == "http/1.1")
            #expect(transaction.remoteAddress == "127.0.0.1")
            #expect(transaction.remotePort == url.port)
            #expect(transaction.countOfResponseBodyBytesReceived == 20 << 10)
            let begun = try #require(transaction.fetchStartDate)
            #expect(try #require(transaction.responseStartDate) >= begun)
            #expect(metrics.taskInterval.end >= metrics.taskInterval.start)

            // Without an answer the server's page is the result.
            let silent = Login { _ in nil }
            let (page, refused) = try await session.data(from: url, delegate: silent)
            #expect((refused as? HTTPURLResponse)?.statusCode == 401)
            #expect(String(decoding: page, as: UTF8.self) == "who are you?\n")
        }
        session.invalidateAndCancel()
    }

    @Test func storedCredentialsAreSent() async throws {
        let scratch = try Scratch("stored")
        let storage = URLCredentialStorage.shared
        let session = session(scratch) { $0.urlCredentialStorage = storage }
        try await LoopbackServer.run { server in
            let url = try #require(URL(string: server.url("a.bin?size=20K&auth=anna:secret")))
            let space = URLProtectionSpace(
                host: "127.0.0.1", port: try #require(url.port), protocol: "http",
                realm: "longhaul", authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
            storage.setDefaultCredential(
                URLCredential(user: "anna", password: "secret", persistence: .forSession),
                for: space)
            let (data, _) = try await session.data(from: url)
            #expect(data.count == 20 << 10)
            #expect(server.log.all.count == 1)
        }
        session.invalidateAndCancel()
    }

    @Test(.enabled(if: NginxServer.isInstalled, "skipped: no nginx"))
    func aClientCertificateIsShown() async throws {
        var options = NginxServer.Options()
        options.requiresClientCertificate = true
        let server = try await NginxServer.start(options: options)
        try Data("inside".utf8).write(to: URL(fileURLWithPath: server.root + "/a.txt"))
        let identity = server.authority.client
        let certificate = try Data(contentsOf: URL(fileURLWithPath: identity.certificate))
        let key = try Data(contentsOf: URL(fileURLWithPath: identity.key))
        let login = Login { challenge in
            if let trust = challenge.protectionSpace.serverTrust {
                return URLCredential(trust: trust)
            }
            return ClientCertificateCredential(clientKey: key, clientCertificate: certificate)
        }
        let scratch = try Scratch("certificate")
        let session = session(scratch)
        let url = try #require(URL(string: server.https("a.txt")))
        let (data, _) = try await session.data(from: url, delegate: login)
        #expect(String(decoding: data, as: UTF8.self) == "inside")
        let asked = [
            NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate,
        ]
        #expect(login.asked.withLock { $0 } == ["\(asked[0]) 0", "\(asked[1]) 1"])
        session.finishTasksAndInvalidate()
        await server.stop()
        // The key does not outlive its task.
        let names = try FileManager.default.contentsOfDirectory(atPath: scratch("state/urlsession"))
        #expect(names.isEmpty, "\(names)")
    }
}
