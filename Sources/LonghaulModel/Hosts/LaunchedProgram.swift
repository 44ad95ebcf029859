/// A program that the engine starts.
package enum LaunchedProgram: Hashable, Sendable {
    case host(HostSettings)
    /// A command and its arguments.
    case job(argv: [String], JobSettings)

    package var argv: [String] {
        switch self {
        case .host(let settings): settings.argv
        case .job(let argv, _): argv
        }
    }

    /// `nil` = the program of a host.
    package var job: JobSettings? {
        if case .job(_, let settings) = self { settings } else { nil }
    }

    /// The settings of a host; of a job, its command with the default values.
    package var settings: HostSettings {
        if case .host(let settings) = self { settings } else { HostSettings(argv: argv) }
    }

    package var isJob: Bool { job != nil }

    /// Bytes of memory that a launch may have; `nil` = without a limit.
    package var maxMemory: Int64? {
        switch self {
        case .host(let settings): settings.maxMemory
        case .job(_, let settings): settings.maxMemory
        }
    }

    /// The user is notified of ends of its runs: ``TaskEnd/isNotified(of:)``.
    package var notifies: Bool {
        switch self {
        case .host(let settings): settings.notifies
        case .job(_, let settings): settings.notifies
        }
    }

    /// The output of a launch that was not asked to end. If a host failed under a limit of its
    /// memory, the last line says that the limit may be the reason: only a control group counts
    /// what was exceeded. The supervisor of a job has written such a line into its log.
    package func explained(_ output: String, _ ending: LaunchEnding, status: Int?) -> String {
        guard case .host(let settings) = self, let bytes = settings.maxMemory,
            ending == .signalled || ending == .exited && status != 0
        else { return output }
        let end = output.isEmpty || output.hasSuffix("\n") ? "" : "\n"
        return output + end
            + "longhaul: it may have exceeded its memory of \(bytes) bytes (--max-memory)\n"
    }

    /// Seconds that a launch may take: the longest budget of its parts. Of a continued task, the
    /// seconds from one report of progress to the next.
    package func budget(of due: LaunchPolicy.Due) -> Double {
        switch self {
        case .job(_, let settings): return settings.maxSeconds ?? Limits.endlessLaunchSeconds
        case .host(let settings):
            if due.tasks.contains(where: { $0.kind == .continued }) {
                return Limits.progressSeconds
            }
            let short = settings.eventBudget ?? HostSettings.defaultEventBudget
            guard due.tasks.contains(where: { $0.kind == .processing }) else { return short }
            let long = settings.taskBudget ?? HostSettings.defaultTaskBudget
            let isMixed = due.session != nil || due.tasks.contains { $0.kind != .processing }
            return isMixed ? max(short, long) : long
        }
    }
}

/// How the command of a job is run.
package struct JobSettings: Hashable, Codable, Sendable {
    /// The working directory of the command; absolute.
    package var directory: String
    /// The variables of the command, without those that name the job and the run.
    package var environment: [String: String]
    /// Variables of the login in which the job was made, for an engine that runs outside of one.
    /// Another login has others.
    package var loginVariables: [String: String]?
    /// 0 = the usual priority of processor and disk; 1…19 = a lower one, and the disk only when
    /// nobody else uses it.
    package var nice = 10
    /// Seconds from SIGTERM to SIGKILL.
    package var graceSeconds: Double = 30
    /// Seconds after which a run is asked to end; `nil` = never.
    package var maxSeconds: Double?
    /// The job runs once; `false` = `job add` made it, and it stays.
    package var isOnce = false
    /// When a run keeps a machine from going to sleep that nobody uses.
    package var inhibitsSleep = SleepInhibition.off
    /// The user is notified of a run that has failed, and of the end of a job that runs once.
    package var notifies = false
    /// Jobs with the same slot share its places; `nil` = the job has none.
    package var slot: JobSlot?
    /// See ``HostSettings/maxMemory``.
    package var maxMemory: Int64?

    package init(directory: String, environment: [String: String]) {
        self.directory = directory
        self.environment = environment
    }
}

/// When a run of a job keeps the machine awake. The text is stored and printed.
package enum SleepInhibition: String, Codable, Sendable, CaseIterable {
    case off
    case on
    /// While there is external power.
    case onPower = "on-power"
}

/// A name that jobs share, and how many of them may run together: `build`, `build=2`. The text is
/// stored and printed.
package struct JobSlot: RawRepresentable, Hashable, Codable, Sendable {
    package var name: String
    /// One and more.
    package var places: Int

    private static let placesMaximum = 999
    private static let nameBytes = 100

    package init?(rawValue: String) {
        let parts = rawValue.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        name = String(parts[0])
        places = 1
        if parts.count > 1 {
            guard let number = Int(parts[1]), (1...Self.placesMaximum).contains(number) else {
                return nil
            }
            places = number
        }
        let isName = name.utf8.allSatisfy { byte in
            UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
                || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || "._-".utf8.contains(byte)
        }
        guard isName, (1...Self.nameBytes).contains(name.utf8.count) else { return nil }
    }

    package var rawValue: String { places == 1 ? name : "\(name)=\(places)" }
}
