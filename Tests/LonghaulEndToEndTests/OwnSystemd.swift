import Foundation
import LonghaulTestSupport
import Testing

/// A service manager of a test's own, as a user has one: real systemd, in namespaces of its own,
/// which end with it and all that it has started.
final class OwnSystemd: Sendable {
    private static let setup = """
        set -e
        mount --make-rprivate /
        mount -t tmpfs tmpfs /run
        mkdir -p /run/systemd/system /run/user/0
        chmod 700 /run/user/0
        mount -t cgroup2 none /sys/fs/cgroup
        """
    /// As a child: the first process of its namespace would take itself for the machine's.
    private static let program = "/lib/systemd/systemd"
    private static let namespaces = [
        "--mount", "--cgroup", "--pid", "--fork", "--kill-child", "--mount-proc",
    ]

    /// What keeps it from being had; `nil` = nothing.
    static let missing: String? = {
        guard geteuid() == 0 else { return "needs root" }
        guard let unshare = InstalledProgram.find("unshare"),
            InstalledProgram.find("nsenter") != nil, InstalledProgram.find("systemctl") != nil,
            access(program, X_OK) == 0
        else { return "there is no unshare, nsenter or systemd" }
        let trial = Process()
        trial.executableURL = URL(fileURLWithPath: unshare)
        trial.arguments = namespaces + ["/bin/sh", "-c", setup]
        trial.standardError = FileHandle.nullDevice
        guard (try? trial.run()) != nil else { return "namespaces cannot be made" }
        trial.waitUntilExit()
        return trial.terminationStatus == 0 ? nil : "namespaces or cgroups are not allowed here"
    }()

    /// The command, with this manager as its user's.
    let home: LonghaulHome
    private let process: CLIProcess
    private let enter: [String]

    init() async throws {
        let base = try LonghaulHome().with(["XDG_RUNTIME_DIR": "/run/user/0"])
        let unshare = try #require(InstalledProgram.find("unshare"))
        let path = "/usr/sbin:/usr/bin:/sbin:/bin"
        process = try CLIProcess(
            unshare,
            Self.namespaces + [
                "/bin/sh", "-c", Self.setup + "\n\(Self.program) --user & wait",
            ], environment: base.environment.merging(["PATH": path]) { $1 })
        let pid = process.pid
        var child = ""
        try await eventually("the namespaces are there") {
            let children = try? String(
                contentsOfFile: "/proc/\(pid)/task/\(pid)/children", encoding: .utf8)
            child = (children ?? "").trimmingCharacters(in: .whitespaces)
            return !child.isEmpty
        }
        let nsenter = try #require(InstalledProgram.find("nsenter"))
        enter = [nsenter, "--target", child, "--mount", "--cgroup", "--pid"]
        home = base.through(enter)
        try await eventually("systemd answers") {
            try await systemctl("show", "--property=Version").status == 0
        }
    }

    func systemctl(_ arguments: String...) async throws -> CLIProcess.Result {
        let words = enter + ["/usr/bin/systemctl", "--user"] + arguments
        return try await CLIProcess.run(
            words[0], Array(words.dropFirst()), environment: home.environment)
    }

    /// A property of a unit.
    func property(_ name: String, of unit: String) async throws -> String {
        try await systemctl("show", unit, "--property=\(name)", "--value").output
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    func kill(_ unit: String, _ signal: String) async throws {
        _ = try await systemctl("kill", "--kill-who=main", "--signal=\(signal)", unit)
    }
}
