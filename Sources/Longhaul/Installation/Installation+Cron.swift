package import LonghaulCore
internal import LonghaulPlatform

extension Installation {
    /// - Parameter runOptions: for `longhaul run`.
    package func cronText(
        _ schedule: CronSchedule, runOptions: [String]
    ) throws(LonghaulError) -> InstallText {
        InstallText(path: nil, text: try block(schedule, runOptions).text)
    }

    /// Has cron run `longhaul run`. Other lines of the crontab are not changed.
    package func installCron(
        _ schedule: CronSchedule, runOptions: [String]
    ) throws(LonghaulError) -> [InstallStep] {
        let block = try block(schedule, runOptions)
        let before = try crontab()
        let after: [UInt8]
        do throws(CronBlock.Problem) {
            after = try block.installed(in: before)
        } catch {
            throw error.refusal
        }
        if after == before { return [.crontab(.unchanged)] }
        try replaceCrontab(with: after)
        return [.crontab(.written)]
    }

    func hasCronBlock() throws(LonghaulError) -> Bool {
        guard ProgramRun.find("crontab", environment: environment) != nil else { return false }
        // A block that cannot be read is one.
        let table = try crontab()
        do throws(CronBlock.Problem) {
            return try CronBlock.removed(of: queue, from: table) != nil
        } catch {
            return true
        }
    }

    func removeFromCrontab() throws(LonghaulError) -> [InstallStep] {
        // Without cron there is nothing of ours in it.
        guard ProgramRun.find("crontab", environment: environment) != nil else { return [] }
        let before = try crontab()
        let rest: [UInt8]?
        do throws(CronBlock.Problem) {
            rest = try CronBlock.removed(of: queue, from: before)
        } catch {
            throw error.refusal
        }
        guard let rest else { return [] }
        try replaceCrontab(with: rest)
        return [.crontab(.removed)]
    }

    private func block(
        _ schedule: CronSchedule, _ runOptions: [String]
    ) throws(LonghaulError) -> CronBlock {
        let environment = try inherited()
        do throws(CronBlock.Problem) {
            return try CronBlock(
                queue: queue, schedule: schedule, environment: environment,
                arguments: [executable, "run"] + runOptions)
        } catch {
            throw error.refusal
        }
    }

    private func crontab() throws(LonghaulError) -> [UInt8] {
        let listed = try run("crontab", ["-l"])
        guard let failure = listed.failure else { return listed.output }
        // crontab(1) reports a missing crontab as a failure.
        if failure.lowercased().contains("no crontab for") { return [] }
        throw LonghaulError(.permission, "the crontab cannot be read: \(failure)")
    }

    private func replaceCrontab(with table: [UInt8]) throws(LonghaulError) {
        let replaced =
            table.isEmpty ? try run("crontab", ["-r"]) : try run("crontab", ["-"], input: table)
        guard let failure = replaced.failure else { return }
        throw LonghaulError(.permission, "the crontab cannot be written: \(failure)")
    }
}

extension CronBlock.Problem {
    fileprivate var refusal: LonghaulError {
        switch self {
        case .lineTooLong:
            LonghaulError(
                .invalidRequest, "the line for cron would be longer than the 998 bytes it takes")
        case .lineBreak:
            LonghaulError(.invalidRequest, "a path has a line break in it, which no crontab takes")
        case .endIsMissing:
            LonghaulError(
                .conflict,
                "in the crontab the line '# END longhaul …' is missing; mend it with `crontab -e`")
        }
    }
}
