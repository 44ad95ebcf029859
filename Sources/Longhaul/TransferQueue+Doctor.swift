internal import LonghaulCore
internal import LonghaulStore
internal import LonghaulPlatform
internal import LonghaulTransport

extension TransferQueue {
    /// Checks store, permissions, clock, limits, libraries and engine; works without an open queue,
    /// because the store may be what is broken. With `repair` a damaged store is moved aside first,
    /// and what can be read of it goes into a new one; refused while an engine runs.
    public static func doctor(directory: String?, repair: Bool, report: (DoctorFinding) -> Void) {
        let curl = CurlCapabilities.current
        report(
            DoctorFinding(
                check: "libcurl", ok: curl.isUsable,
                detail: "\(curl.version), \(curl.schemes.joined(separator: " "))",
                fix: curl.isUsable ? nil : "install libcurl 7.85 or later"))
        report(ConfigurationFile.finding())
        if let finding = environmentFinding() { report(finding) }
        report(
            MachineDoctor.limits(
                openFiles: OwnProcess.openFilesMax, fileBytes: OwnProcess.fileBytesMax))
        do {
            let home = try resolve(directory)
            if repair { report(try mend(home)) }
            report(
                MachineDoctor.clock(
                    now: SystemClock.now().wall, newest: StoreDoctor.newest(directory: home)))
            for found in StoreDoctor.check(directory: home) {
                report(
                    DoctorFinding(
                        check: found.check, ok: found.ok, detail: found.detail, fix: found.fix))
            }
            report(engine(home))
        } catch {
            report(DoctorFinding(check: "store", ok: false, detail: error.message, fix: nil))
        }
    }

    /// What every other command refuses; `nil` = nothing.
    private static func environmentFinding() -> DoctorFinding? {
        do {
            _ = try environmentOverride()
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
        let done = try StoreDoctor.repair(directory: home, now: SystemClock.now().wall)
        let mended = corrected + (done?.mended ?? [])
        var detail = mended.joined(separator: "; ")
        if mended.isEmpty { detail = done == nil ? "no store" : "nothing to mend" }
        if let done, let moved = done.movedTo {
            let transfers = done.recovered["transfer"] ?? 0
            let before = max(done.transfersBefore ?? transfers, transfers)
            let noun = before == 1 ? "transfer" : "transfers"
            let count = before > transfers ? "\(transfers) of \(before)" : "\(transfers)"
            detail += "; moved to \(moved), \(count) \(noun) recovered"
            if done.lost > 0 { detail += ", \(done.lost) rows or tables could not be read" }
        }
        return DoctorFinding(check: "repair", ok: true, detail: detail, fix: nil)
    }
}
