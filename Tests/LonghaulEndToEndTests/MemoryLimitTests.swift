import Foundation
import LonghaulTestSupport
import Testing

/// `--max-memory` of hosts and jobs, without a manager of systemd: each process has the limit.
@Suite(.timeLimit(.minutes(60))) struct MemoryLimitTests {
    private static let words = "may have exceeded its memory"

    /// A command that fills a buffer of this size.
    private static func filling(_ size: String) -> [String] {
        ["dd", "if=/dev/zero", "of=/dev/null", "bs=\(size)", "count=1"]
    }

    @Test func aJob() async throws {
        let jobs = try JobHome()
        let options = ["--no-start", "--retries", "0", "--max-memory", "64M", "--"]
        let child = ["sh", "-c", Self.filling("500M").joined(separator: " ") + "; exit $?"]
        for (name, command) in [
            ("small", Self.filling("8M")), ("large", Self.filling("500M")), ("child", child),
        ] {
            try await jobs.run(["job", "add", name] + options + command)
        }
        let run = try await jobs.run("run")
        for name in ["large", "child"] {
            let job = try await jobs.job(name)
            #expect(job["maxMemory"] == 67_108_864 && job["runs"][0]["result"] == "failure")
            let log = try await jobs.log(name)
            #expect(log.contains { $0.contains("memory exhausted") }, "\(log)")
            #expect(log.last?.contains(Self.words + " of 67108864 bytes") ?? false, "\(log)")
            let shown = try await jobs.run("job", "show", name).output
            #expect(shown.contains("at most 64") && shown.contains(Self.words), "\(shown)")
            #expect(run.errors.contains("job \(name) failed"), "\(run.errors)")
        }
        #expect(run.errors.contains(Self.words), "\(run.errors)")
        #expect(try await jobs.lastRun("small")["result"] == "success")
        #expect(try await !jobs.log("small").contains { $0.contains(Self.words) })
    }

    /// Python reserves memory in other ways than `dd`.
    @Test(.enabled(if: InstalledProgram.find("python3") != nil, "skipped: no python3"))
    func aProgramOfPython() async throws {
        let python = try #require(InstalledProgram.find("python3"))
        let jobs = try JobHome()
        for (name, megabytes) in [("small", 1), ("large", 500)] {
            try await jobs.run([
                "job", "add", name, "--no-start", "--retries", "0", "--max-memory", "64M", "--",
                python, "-c", "bytearray(\(megabytes) << 20)",
            ])
        }
        try await jobs.run("run")
        #expect(try await jobs.lastRun("small")["result"] == "success")
        #expect(try await jobs.lastRun("large")["result"] == "failure")
        #expect(try await jobs.log("large").contains { $0.contains("MemoryError") })
    }

    @Test func aHost() async throws {
        for (size, fails) in [("8M", false), ("500M", true)] {
            let hosts = try HostHome()
            let body = Self.filling(size).joined(separator: " ")
            try await hosts.add("--max-memory", "64M", "--no-start", body: body)
            try await hosts.makeEvents(1)
            try await hosts.run(["run", "--max-time", "30s"])
            #expect(try await hosts.show()["maxMemory"] == 67_108_864)
            let launch = try await hosts.launch()
            #expect(launch["ending"] == "exited" && launch["status"] == (fails ? 1 : 0))
            let output = launch["output"].string ?? ""
            #expect(output.contains(Self.words) == fails, "\(output)")
            #expect(try await hosts.waitingEvents() == (fails ? 2 : 0))
        }
    }

    @Test func aBadSizeIsRefused() async throws {
        let jobs = try JobHome()
        for size in ["", "x", "0", "1023K", "-1", "99999999999999999999"] {
            for words in [["job", "once", "--no-start"], ["host", "add", "h", "--no-start"]] {
                let result = try await jobs.home
                    .start(words + ["--max-memory=\(size)", "--", "/bin/true"]).wait()
                #expect(result.status == 64 && result.errors.contains("--max-memory"))
            }
        }
        #expect(try await jobs.run("host", "list", "--json").rows.isEmpty)
    }
}

/// `--max-memory` where a manager of systemd bounds the memory of a control group. The manager is
/// a program that does what `busctl call … StartTransientUnit` has the manager do; the group is
/// real, and a test writes the files of its memory controller.
@Suite(.timeLimit(.minutes(60)), .enabled(if: FakeManager.missing == nil, "no control groups"))
struct MemoryGroupTests {
    private let manager: FakeManager
    private var home: LonghaulHome { manager.home }

    init() async throws {
        manager = try FakeManager()
    }

    @Test(arguments: [true, false]) func whatExceedsItsMemoryEnds(isJob: Bool) async throws {
        let (jobs, hosts) = (JobHome(home), HostHome(home))
        let body = "grep -q longhaul-launch- /proc/self/cgroup && touch $D/inside; sleep 600"
        if isJob {
            try await jobs.run(
                ["job", "add", "j", "--no-start", "--retries", "0", "--max-memory", "64M"]
                    + ["--grace", "1s", "--env", "D=\(home.scratch.path)", "--", "sh", "-c", body])
        } else {
            try await hosts.add(
                "--max-memory", "64M", "--event-budget", "10m", "--no-start", body: body)
            try await hosts.makeEvents(1)
        }
        let engine = try home.start("daemon")
        try await eventually("it runs in its group") {
            try home.scratch.names().contains("inside")
        }
        let call = try home.scratch.text(of: "call")
        #expect(call.contains("MemoryMax t 67108864 MemorySwapMax t 0"), "\(call)")
        try manager.exceed()
        let name = isJob ? "j" : HostHome.host
        try await eventually("it has ended") {
            let shown = try await jobs.run("host", "show", name, "--json").rows.first
            return shown?["launches"][0]["ending"] == "exceededMemory"
        }
        let shown = try await jobs.run("host", "show", name).output
        #expect(shown.contains("ended because it exceeded its memory"), "\(shown)")
        if isJob {
            #expect(try await jobs.lastRun("j")["result"] == "failure")
            let job = try await jobs.run("job", "show", "j").output
            #expect(job.contains("failed, it exceeded its memory"), "\(job)")
        } else {
            #expect(try await hosts.waitingEvents() == 2)
        }
        try await jobs.end(engine)
    }

    /// A manager without a memory controller, and one that fails: each process has the limit.
    @Test(arguments: ["controller", "answer"]) func itIsMissing(_ what: String) async throws {
        try home.scratch.write("", to: "no-" + what)
        let jobs = JobHome(home)
        try await jobs.run(
            "job", "add", "j", "--no-start", "--retries", "0", "--max-memory", "64M", "--", "dd",
            "if=/dev/zero", "of=/dev/null", "bs=500M", "count=1")
        try await jobs.run("run")
        #expect(try home.scratch.text(of: "call").contains("StartTransientUnit"))
        #expect(try await jobs.lastRun("j")["exitStatus"] == 1)
        let log = try await jobs.log("j")
        #expect(log.last?.contains("may have exceeded its memory") ?? false, "\(log)")
    }
}

/// See ``MemoryGroupTests``.
private final class FakeManager: Sendable {
    /// Executes what follows with control groups of the second version at `$CGROUPS`, and a
    /// directory that can be written at `/sys/fs/cgroup`.
    private static let setup = """
        set -e
        mount --make-rprivate /
        mkdir -p "$CGROUPS"
        mount -t cgroup2 none "$CGROUPS"
        mount --bind "$BOUNDS" /sys/fs/cgroup
        exec "$@"
        """
    private static let busctl = """
        #!/bin/sh
        D=$(dirname "$0")/..
        echo "$@" >> "$D/call"
        [ -e "$D/no-answer" ] && exit 1
        while [ "$1" != StartTransientUnit ]; do shift; done
        unit=longhaul-test.slice/$3
        while [ "$1" != PIDs ]; do shift; done
        mkdir -p "$D/groups/$unit" "$D/bounds/$unit"
        if [ ! -e "$D/no-controller" ]; then
            echo 67108864 > "$D/bounds/$unit/memory.max"
            echo "oom_kill 0" > "$D/bounds/$unit/memory.events"
        fi
        echo "$4" > "$D/groups/$unit/cgroup.procs"
        """

    /// What keeps it from being had; `nil` = nothing.
    static let missing: String? = {
        guard geteuid() == 0 else { return "needs root" }
        guard let scratch = try? Scratch("cgroups"), let launcher = launcher(scratch) else {
            return "there is no unshare"
        }
        let trial = Process()
        trial.executableURL = URL(fileURLWithPath: launcher[0])
        trial.arguments =
            launcher.dropFirst() + ["mkdir", "-p", scratch("groups/longhaul-test.slice")]
        trial.standardError = FileHandle.nullDevice
        guard (try? trial.run()) != nil else { return "namespaces cannot be made" }
        trial.waitUntilExit()
        return trial.terminationStatus == 0 ? nil : "control groups are not allowed here"
    }()

    let home: LonghaulHome

    init() throws {
        let base = try LonghaulHome()
        for place in ["bin", "run/systemd"] { _ = try base.scratch.directory(place) }
        let path = try base.scratch.write(Self.busctl, to: "bin/busctl")
        chmod(path, 0o755)
        try base.scratch.write("", to: "run/systemd/private")
        home = base.with([
            "PATH": base.scratch("bin") + ":/usr/bin:/bin", "XDG_RUNTIME_DIR": base.scratch("run"),
        ]).through(try #require(Self.launcher(base.scratch)))
    }

    /// Control groups stay after their mounts.
    deinit {
        let units = try? home.scratch.names(in: "bounds/longhaul-test.slice")
        guard let units, !units.isEmpty, let launcher = Self.launcher(home.scratch) else { return }
        let paths = units.map { home.scratch("groups/longhaul-test.slice/\($0)") }
        let removal = Process()
        removal.executableURL = URL(fileURLWithPath: launcher[0])
        removal.arguments = launcher.dropFirst() + ["rmdir"] + paths
        removal.standardError = FileHandle.nullDevice
        guard (try? removal.run()) != nil else { return }
        removal.waitUntilExit()
    }

    private static func launcher(_ scratch: Scratch) -> [String]? {
        guard let unshare = InstalledProgram.find("unshare"),
            (try? scratch.directory("bounds")) != nil
        else { return nil }
        return [
            unshare, "--mount", "/usr/bin/env", "CGROUPS=\(scratch("groups"))",
            "BOUNDS=\(scratch("bounds"))", "/bin/sh", "-c", setup, "sh",
        ]
    }

    /// The kernel counts a process of the group that it has killed.
    func exceed() throws {
        let slice = "bounds/longhaul-test.slice"
        let unit = try #require(try home.scratch.names(in: slice).first)
        let path = home.scratch("\(slice)/\(unit)/memory.events")
        try "oom_kill 1\n".write(toFile: path, atomically: false, encoding: .utf8)
    }
}
