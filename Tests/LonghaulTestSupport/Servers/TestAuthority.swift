import Foundation

/// A certificate authority that only the test trusts, and certificates signed by it, made with the
/// `openssl` command. Elliptic keys take milliseconds.
package struct TestAuthority: Sendable {
    /// For `--cacert`.
    package let certificate: String
    package let server: Identity
    /// For `--cert` and `--key`.
    package let client: Identity

    package struct Identity: Sendable {
        package let certificate: String
        package let key: String
    }

    /// The fault of the server's certificate, if it has one.
    package enum Fault: Sendable {
        case none
        /// Issued for another host.
        case wrongName
        /// It expired yesterday.
        case expired
    }

    package static var isInstalled: Bool { InstalledProgram.find("openssl") != nil }

    /// Writes authority, server and client certificate with their keys into the directory.
    package static func make(in scratch: Scratch, fault: Fault = .none) async throws -> Self {
        let maker = try Maker(scratch: scratch)
        let directory = try scratch.directory("certs")
        try await maker.openssl(
            ["req", "-x509", "-days", "30", "-subj", "/CN=longhaul test authority"]
                + maker.newKey("\(directory)/ca.key")
                + ["-addext", "basicConstraints=critical,CA:TRUE", "-out", "\(directory)/ca.pem"])
        let names =
            switch fault {
            case .none, .expired: "IP:127.0.0.1,IP:::1,DNS:localhost"
            case .wrongName: "DNS:elsewhere.invalid"
            }
        let server = try await maker.identity(
            "server", extensions: "subjectAltName=\(names)\nextendedKeyUsage=serverAuth\n",
            days: fault == .expired ? -1 : 30)
        let client = try await maker.identity(
            "client", extensions: "extendedKeyUsage=clientAuth\n", days: 30)
        return TestAuthority(
            certificate: "\(directory)/ca.pem", server: server, client: client)
    }

    private struct Maker {
        let scratch: Scratch
        let program: String

        init(scratch: Scratch) throws {
            guard let program = InstalledProgram.find("openssl") else {
                throw NotInstalled("openssl")
            }
            self.scratch = scratch
            self.program = program
        }

        func newKey(_ path: String) -> [String] {
            ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", path]
        }

        func identity(_ name: String, extensions: String, days: Int) async throws -> Identity {
            let base = scratch("certs/\(name)")
            try scratch.write(extensions, to: "certs/\(name).ext")
            try await openssl(
                ["req", "-new", "-subj", "/CN=\(name)"] + newKey("\(base).key")
                    + ["-out", "\(base).csr"])
            func sign(_ validity: [String]) async throws {
                try await openssl(
                    [
                        "x509", "-req", "-in", "\(base).csr", "-CA", scratch("certs/ca.pem"),
                        "-CAkey", scratch("certs/ca.key"), "-CAcreateserial", "-extfile",
                        "\(base).ext", "-out", "\(base).pem",
                    ] + validity)
            }
            do {
                try await sign(["-days", "\(days)"])
            } catch  where days < 0 {
                // From OpenSSL 3.4 on, an end in the past is given as a date.
                try await sign(["-not_before", "20200101000000Z", "-not_after", "20210101000000Z"])
            }
            return Identity(certificate: "\(base).pem", key: "\(base).key")
        }

        func openssl(_ arguments: [String]) async throws {
            let result = try await CLIProcess.run(program, arguments)
            guard result.status == 0 else {
                throw FixtureFailed(description: "openssl \(arguments): \(result.errors)")
            }
        }
    }
}

/// A program that a fixture needs is missing. Suites guard against it with
/// `.enabled(if: NginxServer.isInstalled, "skipped: no nginx")`.
package struct NotInstalled: Error, CustomStringConvertible {
    package let description: String

    init(_ program: String) { description = "\(program) is not installed" }
}
