import ArgumentParser
import Longhaul

/// The limits within which `run` works; `install` passes them on.
struct RunOptions: ParsableArguments {
    enum Only: String, ExpressibleByArgument, CaseIterable {
        case discretionary, immediate
    }

    enum Unresumable: String, ExpressibleByArgument, CaseIterable {
        case wait, finish
    }

    @Option(help: "Leave after this time: 90s, 15m, 2h.")
    var maxTime: String?

    @Option(
        help: """
            At the end of that time, transfers that cannot resume are stopped and wait for a \
            longer one (wait, the default), or are finished first (finish). A POST that may not \
            be sent twice is always finished.
            """)
    var unresumable: Unresumable?

    @Option(help: "Leave after this number of bytes: 500M, 2G.")
    var maxBytes: String?

    @Option(help: "Run only these transfers.")
    var only: Only?

    @Flag(help: "Exit with 1 also if a job has failed.")
    var failOnJobs = false

    func apply(to options: inout EngineOptions) throws(LonghaulError) {
        if let maxTime { options.maxSeconds = try OptionText.duration(maxTime, "--max-time") }
        switch unresumable {
        case .wait: options.unresumable = .wait
        case .finish: options.unresumable = .finish
        case nil: break
        }
        if let maxBytes { options.maxBytes = try OptionText.size(maxBytes, "--max-bytes") }
        switch only {
        case .discretionary: options.onlyDiscretionary = true
        case .immediate: options.onlyDiscretionary = false
        case nil: break
        }
    }

    /// The options as they were typed, validated before they are passed on.
    func arguments() throws(LonghaulError) -> [String] {
        var options = EngineOptions(mode: .run)
        try apply(to: &options)
        var arguments: [String] = []
        if let maxTime { arguments += ["--max-time", maxTime] }
        if let unresumable { arguments += ["--unresumable", unresumable.rawValue] }
        if let maxBytes { arguments += ["--max-bytes", maxBytes] }
        if let only { arguments += ["--only", only.rawValue] }
        if failOnJobs { arguments.append("--fail-on-jobs") }
        return arguments
    }
}
