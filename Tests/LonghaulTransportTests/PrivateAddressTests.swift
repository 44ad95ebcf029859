import LonghaulCore
import LonghaulTransport
import Testing

/// A request that refuses private addresses makes no connection to one, and uses none.
@Suite(.timeLimit(.minutes(60))) struct PrivateAddressTests {
    private var refusing: ConnectionSettings {
        var settings = ConnectionSettings()
        settings.privateAddresses = .refuse
        return settings
    }

    /// By address, by a name that resolves to one, and by other spellings.
    @Test(arguments: ["127.0.0.1", "localhost", "127.1", "2130706433", "[::ffff:127.0.0.1]"])
    func noConnectionIsMade(host: String) async throws {
        let server = try ScriptedServer { _ in [answer(body: [9])] }
        let wire = try Wire()
        let url = "http://\(host):\(server.port)/"
        let outcome = try await wire.run(
            wire.request(url, PartFile(), connection: refusing))
        guard case .privateAddress = outcome.failure else {
            Issue.record("\(host): \(String(describing: outcome.failure))")
            return
        }
        #expect(server.connections == 0)
    }

    @Test(arguments: ["ftp", "sftp"]) func whateverTheProtocol(scheme: String) async throws {
        let server = try ScriptedServer { _ in [.hang] }
        let wire = try Wire()
        let outcome = try await wire.run(
            wire.request(
                "\(scheme)://127.0.0.1:\(server.port)/f", PartFile(), connection: refusing))
        guard case .privateAddress = outcome.failure else {
            Issue.record("\(scheme): \(String(describing: outcome.failure))")
            return
        }
        #expect(server.connections == 0)
    }

    /// Another request has made the connection.
    @Test func noneIsUsedAgain() async throws {
        let server = try ScriptedServer { _ in [answer(body: [9])] }
        let wire = try Wire()
        #expect(try await wire.run(wire.request(server.url(), PartFile())).failure == nil)
        let outcome = try await wire.run(
            wire.request(server.url("/secret"), PartFile(), connection: refusing))
        #expect(outcome.failure == .privateAddress(host: "127.0.0.1"))
        #expect(server.requests.map(\.path) == ["/file"])
        #expect(try await wire.run(wire.request(server.url(), PartFile())).failure == nil)
    }

    /// The proxy of the machine may be beside it.
    @Test func aProxyIsNotChecked() async throws {
        let proxy = try ScriptedServer { _ in [answer(body: [9])] }
        let wire = try Wire()
        var settings = refusing
        settings.proxy = "http://127.0.0.1:\(proxy.port)"
        let outcome = try await wire.run(
            wire.request("http://files.test/", PartFile(), connection: settings))
        #expect(outcome.failure == nil && proxy.requests.count == 1)
    }
}
