import Foundation
import Glibc

/// The programs that the package builds, as files.
package enum BuiltBinary {
    /// The command `longhaul`: `LONGHAUL_BINARY` if that is set, else the one that was built
    /// together with the running tests.
    package static var longhaul: String {
        get throws {
            if let path = ProcessInfo.processInfo.environment["LONGHAUL_BINARY"] { return path }
            return try named("longhaul")
        }
    }

    /// The product or executable target of this name beside the running test bundle.
    package static func named(_ name: String) throws -> String {
        let looked = directories.map { "\($0)/\(name)" }
        guard let path = looked.first(where: { access($0, X_OK) == 0 }) else {
            throw NotBuilt(description: "no program \(name); looked for \(looked)")
        }
        return path
    }

    /// Copies a program in another process: one that any process has open for writing cannot be
    /// started (ETXTBSY), and a child that is about to begin has what its parent has open.
    package static func copy(_ program: String, to path: String) async throws {
        let copier = try CLIProcess("/bin/cp", [program, path])
        guard try await copier.wait().status == 0 else {
            throw NotBuilt(description: "cp: \(copier.errors)")
        }
    }

    package struct NotBuilt: Error, CustomStringConvertible {
        package var description: String
    }

    /// On Linux the test bundle is the running program itself; another runner may have loaded it,
    /// and then its path is among the arguments.
    private static var directories: [String] {
        let arguments = CommandLine.arguments.filter { $0.hasSuffix(".xctest") }
        let programs = arguments + ["/proc/self/exe"]
        return programs.compactMap { program in
            guard let resolved = realpath(program, nil) else { return nil }
            defer { free(resolved) }
            return (String(cString: resolved) as NSString).deletingLastPathComponent
        }
    }
}

/// Programs of the system that some fixtures need.
package enum InstalledProgram {
    /// The path of the program, nil if it is not installed. Also searches the administrator's
    /// directories, which an ordinary user's PATH does not contain.
    package static func find(_ name: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let directories =
            path.split(separator: ":").map(String.init)
            + ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"]
        return directories.lazy.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }
}
