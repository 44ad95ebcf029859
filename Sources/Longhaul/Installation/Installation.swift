internal import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulStore

/// Sets up that this program is run for the user without being asked: by the user's service
/// manager, or by cron.
///
/// Doing the same again changes nothing. Files that another program wrote are never replaced or
/// removed.
package struct Installation: Sendable {
    let environment: [String: String]
    /// Absolute.
    let executable: String
    /// The queue's state directory.
    let queue: String

    /// The installation of this program, for the queue that the environment names.
    package static func current() throws(LonghaulError) -> Installation {
        try Environment.checkPath(in: ["LONGHAUL_CONFIG"])
        try Environment.checkPath(in: ["XDG_CONFIG_HOME", "HOME"])
        let environment = Environment.all()
        return Installation(
            environment: environment,
            executable: BackgroundEngine.calledExecutable(environment: environment),
            queue: try StateDirectory.ofQueue(nil))
    }

    /// The place of this machine among others, 0 ..< 1: from its machine id and host name; clones
    /// of one image share at most one of them.
    package var machinePlace: Double {
        let files = ["/etc/machine-id", "/proc/sys/kernel/hostname"]
        let texts = files.map { path in
            String(decoding: (try? TextFile.read(path)) ?? [], as: UTF8.self)
        }
        return StablePlace.of(texts.joined() + queue)
    }

    /// Variables of this environment that choose queue and configuration, for the service or cron.
    func inherited() throws(LonghaulError) -> [EnvironmentEntry] {
        var entries: [EnvironmentEntry] = []
        if let home = environment["LONGHAUL_HOME"], !home.isEmpty {
            entries.append(EnvironmentEntry("LONGHAUL_HOME", queue))
        }
        if let file = environment["LONGHAUL_CONFIG"], !file.isEmpty {
            entries.append(EnvironmentEntry("LONGHAUL_CONFIG", try CurrentDirectory.absolute(file)))
        }
        return entries
    }

    /// Nothing starts engines of this user after a reboot, and the queue was never asked before.
    package func isMissing(of queue: TransferQueue) throws(LonghaulError) -> Bool {
        guard try queue.store.settings.noteOnce("reboot"), try !hasUnits() else { return false }
        return try !hasCronBlock()
    }

    /// Removes the installed files, and nothing else. Empty = nothing was installed.
    package func uninstall() throws(LonghaulError) -> [InstallStep] {
        try removeUnits() + removeFromCrontab()
    }

    func run(
        _ program: String, _ arguments: [String], input: [UInt8] = []
    ) throws(LonghaulError) -> ProgramRun {
        guard let path = ProgramRun.find(program, environment: environment) else {
            throw LonghaulError(
                .conflict, "there is no program `\(program)`; install it, then try again")
        }
        do {
            return try ProgramRun.run(path, arguments, environment: environment, input: input)
        } catch {
            throw error.longhaulError()
        }
    }
}

extension ProgramRun {
    /// Why it failed, in its own words; `nil` = it did not.
    var failure: String? {
        if status == 0 { return nil }
        let lines = errors.byteLines.filter { !$0.isEmpty }
        return lines.isEmpty ? "it ended with \(status)" : lines.joined(separator: "; ")
    }
}

/// Something that `install` or `uninstall` did, or asks the user to do.
package enum InstallStep: Hashable, Sendable {
    package enum Change: String, Hashable, Sendable {
        case written, unchanged, removed
    }

    /// A unit, or the file that has the engine started.
    case file(String, Change)
    /// Our lines in the user's crontab.
    case crontab(Change)
    /// A command that was run; `failure` = its error message.
    case command(String, failure: String?)
    /// A step that is left to the user, and its reason.
    case advice(String, command: String)

    /// A command that was run, whether it succeeded or not.
    var hasRun: Bool {
        if case .command(_, let failure) = self {
            failure != InstallStep.unreachable
        } else {
            false
        }
    }

    /// The failure of a command that was not run.
    static let unreachable = "no service manager of this user can be reached from here"
}

/// Output of `install --print`: a file's text, or the lines of the crontab.
package struct InstallText: Hashable, Sendable {
    /// `nil` = the crontab.
    package var path: String?
    package var text: String
}

extension JSONText {
    package mutating func installStep(_ step: InstallStep) {
        object {
            switch step {
            case .file(let path, let change):
                $0.field("step", "file")
                $0.field("path", path)
                $0.field("change", change.rawValue)
            case .crontab(let change):
                $0.field("step", "crontab")
                $0.field("change", change.rawValue)
            case .command(let line, let failure):
                $0.field("step", "command")
                $0.field("command", line)
                $0.field("ok", failure == nil)
                $0.field("detail", failure)
            case .advice(let why, let line):
                $0.field("step", "advice")
                $0.field("command", line)
                $0.field("detail", why)
            }
        }
    }

    package mutating func installText(_ text: InstallText) {
        object {
            $0.field("step", text.path == nil ? "crontab" : "file")
            $0.field("path", text.path)
            $0.field("text", text.text)
        }
    }
}
