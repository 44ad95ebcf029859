import Foundation
import Glibc

/// OpenSSH on a loopback port of its own, with keys of its own, serving its `root` over SFTP to the
/// user of the test process.
package final class SFTPServer: Sendable {
    package let port: Int
    package let root: String
    package let user: String
    /// The private key of `user`; the public one is beside it with `.pub`.
    package let key: String
    /// A `known_hosts` file with the server's key.
    package let knownHosts: String
    private let scratch: Scratch
    private let server: ServerProcess

    package static var isInstalled: Bool {
        InstalledProgram.find("sshd") != nil && InstalledProgram.find("ssh-keygen") != nil
    }

    /// Starts sshd and waits until it accepts connections.
    package static func start() async throws -> SFTPServer {
        guard let program = InstalledProgram.find("sshd"),
            let keygen = InstalledProgram.find("ssh-keygen")
        else { throw NotInstalled("sshd") }
        let scratch = try Scratch("sftp")
        let root = try scratch.directory("root")
        for name in ["host_key", "client_key"] {
            // Every libssh2 can read an elliptic key in PEM form.
            let result = try await CLIProcess.run(
                keygen,
                ["-q", "-t", "ecdsa", "-b", "256", "-m", "PEM", "-N", "", "-f", scratch(name)])
            guard result.status == 0 else { throw FixtureFailed(description: result.errors) }
        }
        try scratch.write(scratch.text(of: "client_key.pub"), to: "authorized_keys")
        // As root sshd demands its directory for privilege separation.
        if geteuid() == 0 {
            try FileManager.default.createDirectory(
                atPath: "/run/sshd", withIntermediateDirectories: true)
        }
        let server = try await ServerProcess.start(ports: 1) { ports in
            try scratch.write(
                Fixture.text(
                    "servers/sshd_config", ["PORT": "\(ports[0])", "STATE": scratch.path]),
                to: "sshd_config")
            return try CLIProcess(program, ["-D", "-e", "-f", scratch("sshd_config")])
        }
        let port = server.ports[0]
        try scratch.write(
            "[127.0.0.1]:\(port) " + scratch.text(of: "host_key.pub"), to: "known_hosts")
        return SFTPServer(scratch: scratch, server: server, root: root)
    }

    private init(scratch: Scratch, server: ServerProcess, root: String) {
        self.scratch = scratch
        self.server = server
        self.root = root
        port = server.ports[0]
        user = NSUserName()
        key = scratch("client_key")
        knownHosts = scratch("known_hosts")
    }

    package func stop() async { await server.stop() }

    package func url(_ name: String) -> String {
        "sftp://\(user)@127.0.0.1:\(port)\(root)/\(name)"
    }
}
