package import LonghaulCore
internal import LonghaulPlatform

/// Sets up that this program is run for the user without being asked: by the user's service
/// manager, or by cron.
///
/// Doing the same again changes nothing. What somebody else wrote is never replaced or removed.
package struct Installation: Sendable {
    let environment: [String: String]
    /// Absolute.
    let executable: String
    /// The queue's state directory.
    let queue: String

    /// This program, for the queue that the environment names.
    package static func current() throws(LonghaulError) -> Installation {
        try Environment.checkPath(in: ["LONGHAUL_CONFIG"])
        try Environment.checkPath(in: ["XDG_CONFIG_HOME", "HOME"])
        return Installation(
            environment: Environment.all(), executable: BackgroundEngine.ownExecutable(),
            queue: try TransferQueue.resolve(nil))
    }

    /// What the service or cron is to be told of this environment: what chooses queue and
    /// configuration.
    func inherited() throws(LonghaulError) -> [EnvironmentEntry] {
        var entries: [EnvironmentEntry] = []
        if let home = environment["LONGHAUL_HOME"], !home.isEmpty {
            entries.append(EnvironmentEntry("LONGHAUL_HOME", queue))
        }
        if let file = environment["LONGHAUL_CONFIG"], !file.isEmpty {
            entries.append(EnvironmentEntry("LONGHAUL_CONFIG", try WorkingDirectory.absolute(file)))
        }
        return entries
    }

    /// Removes all that was installed, and nothing else. Empty = there was nothing.
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
        let lines = errors.split(separator: "\n")
        return lines.isEmpty ? "it ended with \(status)" : lines.joined(separator: "; ")
    }
}
