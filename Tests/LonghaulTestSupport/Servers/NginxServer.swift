import Foundation
import Glibc

/// nginx on loopback ports of its own: an honest, fast server for HTTP/1.1, HTTP/2 and TLS, which
/// the loopback server does not speak. Killed when the value is released.
package final class NginxServer: Sendable {
    package struct Options: Sendable {
        /// Bytes per second for each connection (each stream, over HTTP/2).
        package var rate: Int?
        /// The most connections from this machine; further ones are answered with 503.
        package var connectionsMax: Int?
        package var fault: TestAuthority.Fault = .none
        /// Refuse TLS clients without a certificate of the authority.
        package var requiresClientCertificate = false
        /// Offer HTTP/2 over TLS.
        package var hasHTTP2 = true
        /// Appended to the `server` block unchanged.
        package var extra = ""

        package init() {}
    }

    package let httpPort: Int
    package let httpsPort: Int
    /// The directory whose files are served.
    package let root: String
    package let authority: TestAuthority
    private let scratch: Scratch
    private let server: ServerProcess

    package static var isInstalled: Bool {
        InstalledProgram.find("nginx") != nil && TestAuthority.isInstalled
    }

    /// Starts nginx and waits until it accepts connections.
    ///
    /// - Parameter root: an existing directory to serve; default: an empty one that is removed with
    ///   the server.
    package static func start(
        root: String? = nil, options: Options = Options()
    ) async throws -> NginxServer {
        guard let program = InstalledProgram.find("nginx") else { throw NotInstalled("nginx") }
        let scratch = try Scratch("nginx")
        let directory = try root ?? scratch.directory("root")
        for name in ["body", "proxy", "fastcgi", "uwsgi", "scgi"] {
            _ = try scratch.directory("tmp/\(name)")
        }
        let authority = try await TestAuthority.make(in: scratch, fault: options.fault)
        let server = try await ServerProcess.start(ports: 2) { ports in
            let text = try configuration(scratch, directory, authority, ports, options)
            try scratch.write(text, to: "nginx.conf")
            return try CLIProcess(
                program,
                ["-p", scratch.path, "-c", scratch("nginx.conf"), "-e", scratch("error.log")])
        }
        return NginxServer(scratch: scratch, server: server, root: directory, authority: authority)
    }

    private init(scratch: Scratch, server: ServerProcess, root: String, authority: TestAuthority) {
        self.scratch = scratch
        self.server = server
        self.root = root
        self.authority = authority
        httpPort = server.ports[0]
        httpsPort = server.ports[1]
    }

    package func stop() async { await server.stop() }

    package func http(_ name: String) -> String { "http://127.0.0.1:\(httpPort)/\(name)" }

    /// Needs `--cacert` with `authority.certificate`.
    package func https(_ name: String) -> String { "https://127.0.0.1:\(httpsPort)/\(name)" }

    /// Every answered request, in the order in which the answers ended: `connection`, `protocol`,
    /// `method`, `path`, `status`, `bodyBytes`, `range`, `ifRange`, `seconds`.
    package var accessLog: [JSONValue] {
        get throws { try JSONValue.lines(scratch.text(of: "access.log")) }
    }

    package var errorLog: String { (try? scratch.text(of: "error.log")) ?? "" }

    /// Waits until the access log has this many lines.
    @discardableResult
    package func waitForRequests(
        _ count: Int, within limit: Duration = Patience.usual
    ) async throws -> [JSONValue] {
        try await eventually(within: limit, "\(count) lines in the access log") {
            try self.accessLog.count >= count
        }
        return try accessLog
    }

    // MARK: -

    private static func configuration(
        _ scratch: Scratch, _ root: String, _ authority: TestAuthority, _ ports: [Int],
        _ options: Options
    ) throws -> String {
        // As root, workers would change to a user without access to the scratch directory.
        let user = geteuid() == 0 ? "user root;" : ""
        let zone = "limit_conn_zone $binary_remote_addr zone=peers:64k;"
        let limits = [
            options.rate.map { "limit_rate \($0);" },
            options.connectionsMax.map { "limit_conn peers \($0);" },
            options.requiresClientCertificate
                ? "ssl_verify_client on; ssl_client_certificate \(authority.certificate);" : nil,
            options.extra,
        ].compactMap { $0 }.joined(separator: "\n        ")
        return try Fixture.text(
            "servers/nginx.conf",
            [
                "USER": user, "STATE": scratch.path, "ZONE": zone, "PLAIN_PORT": "\(ports[0])",
                "TLS_PORT": "\(ports[1])", "HTTP2": options.hasHTTP2 ? " http2" : "", "ROOT": root,
                "CERTIFICATE": authority.server.certificate, "KEY": authority.server.key,
                "LIMITS": limits,
            ])
    }
}
