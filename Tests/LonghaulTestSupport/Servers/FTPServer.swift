import Foundation
import Glibc

/// vsftpd on a loopback port of its own, for anonymous reading with `SIZE`, `MDTM` and `REST`.
package final class FTPServer: Sendable {
    package let port: Int
    /// The directory whose files are served. Not writable by the server, as vsftpd wants it.
    package let root: String
    private let scratch: Scratch
    private let server: ServerProcess

    /// vsftpd changes its root directory, for which it must be started by root.
    package static var isInstalled: Bool {
        InstalledProgram.find("vsftpd") != nil && geteuid() == 0
    }

    /// Starts vsftpd and waits until it accepts connections.
    package static func start() async throws -> FTPServer {
        guard let program = InstalledProgram.find("vsftpd") else { throw NotInstalled("vsftpd") }
        let scratch = try Scratch("ftp")
        let root = try scratch.directory("root")
        let empty = try scratch.directory("empty")
        // Anonymous visitors come as another user, who must get through to the files. It is
        // `daemon`, since vsftpd wants a user whose home directory exists.
        for path in [scratch.path, root, empty] { chmod(path, 0o755) }
        let server = try await ServerProcess.start(ports: 1) { ports in
            try scratch.write(
                Fixture.text(
                    "servers/vsftpd.conf",
                    ["PORT": "\(ports[0])", "ROOT": root, "EMPTY": empty, "STATE": scratch.path]),
                to: "vsftpd.conf")
            return try CLIProcess(program, [scratch("vsftpd.conf")])
        }
        return FTPServer(scratch: scratch, server: server, root: root)
    }

    private init(scratch: Scratch, server: ServerProcess, root: String) {
        self.scratch = scratch
        self.server = server
        self.root = root
        port = server.ports[0]
    }

    package func stop() async { await server.stop() }

    package func url(_ name: String) -> String { "ftp://127.0.0.1:\(port)/\(name)" }

    /// The whole conversation of every connection so far.
    package var log: String { (try? scratch.text(of: "ftp.log")) ?? "" }

    /// Puts a file where everybody may read it.
    package func add(_ name: String, _ content: Representation) throws {
        try content.write(to: "\(root)/\(name)")
        chmod("\(root)/\(name)", 0o644)
    }
}
