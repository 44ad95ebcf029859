internal import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform
internal import LonghaulTransport

/// The checks of ``TransferQueue/doctor(directory:repair:report:)``.
enum QueueDoctor {
    static func check(directory: String?, repair: Bool, report: (DoctorFinding) -> Void) {
        let curl = CurlCapabilities.current
        report(
            DoctorFinding(
                check: "libcurl", ok: curl.isUsable,
                detail: "\(curl.version), \(curl.schemes.joined(separator: " "))",
                fix: curl.isUsable ? nil : "install libcurl 7.85 or later"))
        report(ConfigurationFile.finding())
        if let finding = environment() { report(finding) }
        report(
            MachineDoctor.limits(
                openFiles: OwnProcess.openFilesMax, fileBytes: OwnProcess.fileBytesMax))
        do {
            let home = try StateDirectory.ofQueue(directory)
            if repair { report(try mend(home)) }
            report(
                MachineDoctor.clock(
                    now: SystemClock.now().wall, newest: StoreDoctor.newest(directory: home)))
            for found in StoreDoctor.check(directory: home) { report(found) }
            report(engine(home))
            for finding in failing(home) { report(finding) }
            if let finding = folders(home) { report(finding) }
        } catch {
            report(DoctorFinding(check: "store", ok: false, detail: error.message, fix: nil))
        }
    }

    /// Finds what every other command refuses; `nil` = nothing.
    private static func environment() -> DoctorFinding? {
        do {
            _ = try ConditionReader.environmentOverride()
            try JournalLevel.check()
            return nil
        } catch {
            return DoctorFinding(
                check: "environment", ok: false, detail: error.message,
                fix: "unset or mend the variable: all other commands refuse it")
        }
    }

    private static func engine(_ home: String) -> DoctorFinding {
        guard (try? EngineLock.isHeld(in: home)) ?? false else {
            return DoctorFinding(check: "engine", ok: true, detail: "none runs", fix: nil)
        }
        // A store that cannot be read has been reported.
        if let stopped = try? TransferQueue(directory: home).stoppedEngine() {
            return DoctorFinding(
                check: "engine", ok: false,
                detail: "process \(stopped) is the engine and was stopped: nothing moves",
                fix: "kill -CONT \(stopped) lets it go on; kill -KILL \(stopped) lets another"
                    + " take over, and costs nothing")
        }
        return DoctorFinding(check: "engine", ok: true, detail: "one runs", fix: nil)
    }

    /// Hosts whose last launch failed, and jobs whose last run failed.
    private static func failing(_ home: String) -> [DoctorFinding] {
        // A store that cannot be read has been reported.
        let all = (try? TransferQueue(directory: home).store.hosts.failing()) ?? []
        let jobs = all.filter { $0.program.isJob }.map { TerminalText.shown($0.name) }
        let hosts = all.filter { !$0.program.isJob }
        var findings: [DoctorFinding] = []
        if let first = hosts.first {
            let names = hosts.map { "\(TerminalText.shown($0.name)) (\($0.failures) in a row)" }
            findings.append(
                DoctorFinding(
                    check: "hosts", ok: false,
                    detail: "\(hosts.count) failed when last launched: "
                        + names.joined(separator: ", "),
                    fix: "`longhaul host show \(TerminalText.shown(first.name))` has what it said"))
        }
        if let first = jobs.first {
            findings.append(
                DoctorFinding(
                    check: "jobs", ok: false,
                    detail: "the last run failed of " + jobs.joined(separator: ", "),
                    fix: "`longhaul job log \(first)` has its output"))
        }
        return findings
    }

    /// Folders that are gone, or where the kernel does not tell of new files; `nil` = none.
    private static func folders(_ home: String) -> DoctorFinding? {
        let all = (try? TransferQueue(directory: home).store.folders.all()) ?? []
        let failed = all.filter { $0.state == .failed }
        let texts = all.compactMap { folder -> String? in
            let (name, findings) = (TerminalText.shown(folder.name), folder.findings)
            if let error = findings.error, folder.state == .failed {
                return "\(name): \(error.message)"
            }
            return findings.scansBecause.map { "\(name) is scanned every 10 minutes: \($0)" }
        }
        if texts.isEmpty { return nil }
        let isShort = all.contains { $0.findings.scansBecause?.contains("inotify") == true }
        let raise = "raise fs.inotify.max_user_watches and max_user_instances"
        return DoctorFinding(
            check: "folders", ok: failed.isEmpty, detail: texts.joined(separator: "; "),
            fix: failed.isEmpty
                ? isShort ? raise : nil
                : "bring the directory back, or `longhaul folder remove` it")
    }

    private static func mend(_ home: String) throws(LonghaulError) -> DoctorFinding {
        // First, that the lock can be opened.
        let corrected = try StoreDoctor.correctModes(directory: home)
        let lock: EngineLock?
        do throws(SystemFailure) {
            lock = try EngineLock.tryAcquire(in: home)
        } catch {
            throw error.longhaulError()
        }
        guard let lock else {
            return DoctorFinding(
                check: "repair", ok: false, detail: "an engine runs",
                fix: "stop it, then run `longhaul doctor --repair` again")
        }
        defer { withExtendedLifetime(lock) {} }
        let done = try StoreDoctor.repair(directory: home)
        let mended = corrected + (done?.mended ?? [])
        var detail = mended.joined(separator: "; ")
        if mended.isEmpty { detail = done == nil ? "no store" : "nothing to mend" }
        guard let done, let moved = done.movedTo else {
            return DoctorFinding(check: "repair", ok: true, detail: detail, fix: nil)
        }
        detail += "; moved to \(moved); " + replacement(done)
        return DoctorFinding(
            check: "repair", ok: !done.isTotalLoss, detail: detail,
            fix: "enqueue again what is missing; `sqlite3 '\(moved)' .recover` prints as SQL what"
                + " can still be read of the damaged file")
    }

    /// Describes the replacement of a damaged store and the loss.
    private static func replacement(_ done: RepairReport) -> String {
        let next = "new transfers count from \(done.nextTransfer ?? 1)"
        guard let restored = done.restored else {
            return "there is no copy of it: nothing was recovered, the queue is empty; \(next)"
        }
        let noun = restored.transfers == 1 ? "transfer" : "transfers"
        var text =
            "replaced by the copy of \(RFC3339.format(restored.at)) with"
            + " \(restored.transfers) \(noun), the last of them \(restored.last.transfer)"
        text += "; what was recorded or changed later is lost"
        if let before = done.before {
            let lost = [
                ("transfer", restored.last.transfer, before.transfer),
                ("event", restored.last.event, before.event),
            ].filter { $0.1 < $0.2 }.map { "\($0.0)s \($0.1 + 1) to \($0.2)" }
            if !lost.isEmpty { text += " (\(lost.joined(separator: ", ")))" }
        }
        return text + "; \(next)"
    }
}
