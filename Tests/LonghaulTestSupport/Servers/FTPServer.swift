import Foundation
import Glibc

/// vsftpd on a loopback port of its own, for anonymous reading with `SIZE`, `MDTM` and `REST`, and
/// for writing into `root`/in.
package final class FTPServer: Sendable {
    package let port: Int
    /// The directory whose files are served. Not writable by the server, as vsftpd demands.
    package let root: String
    private let scratch: Scratch
    private let server: ServerProcess

    /// vsftpd changes its root directory, so root has to start it.
    package static var isInstalled: Bool {
        InstalledProgram.find("vsftpd") != nil && geteuid() == 0
    }

    /// Starts vsftpd and waits until it accepts connections.
    package static func start() async throws -> FTPServer {
        guard let program = InstalledProgram.find("vsftpd") else { throw NotInstalled("vsftpd") }
        let scratch = try Scratch("ftp")
        let root = try scratch.directory("root")
        let empty = try scratch.directory("empty")
        // Anonymous sessions run as another user, which needs access to the files. That user is
        // `daemon`, because vsftpd demands a user whose home directory exists.
        for path in [scratch.path, root, empty] { chmod(path, 0o755) }
        chmod(try scratch.directory("root/in"), 0o777)
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

    /// Adds a file that every user may read.
    package func add(_ name: String, _ content: Representation) throws {
        try content.write(to: "\(root)/\(name)")
        chmod("\(root)/\(name)", 0o644)
    }
}
