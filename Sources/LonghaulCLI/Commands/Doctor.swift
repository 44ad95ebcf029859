import ArgumentParser
import Longhaul

struct Doctor: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract:
            "Check the store, files, permissions, clock, limits and libraries, and say what to do.",
        discussion: """
            Reports faults and their remedies; --repair applies the safe ones.
            A damaged store is moved aside, and its daily copy takes its place.

              longhaul doctor
              longhaul doctor --repair --json

            \(ExitStatus.help([.done, .usage, .storeUnavailable]))
              73 also: the check found damage, or the repair
              recovered nothing or failed.
            """)

    @Flag(help: "Repair what can be repaired, and restore a damaged store from its daily copy.")
    var repair = false

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        var findings: [DoctorFinding] = []
        TransferQueue.doctor(directory: nil, repair: repair) { findings.append($0) }
        for finding in findings {
            if console.isJSON {
                try console.line { $0.value(finding) }
            } else {
                for line in Doctor.lines(finding, .of(1)) { try console.line(line) }
            }
        }
        return Doctor.status(findings)
    }

    private static let storeChecks: Set = ["store", "integrity", "rows", "repair"]

    /// An unhealthy store alone makes the command fail.
    static func status(_ findings: [DoctorFinding]) -> ExitStatus {
        findings.contains { !$0.ok && storeChecks.contains($0.check) } ? .storeUnavailable : .done
    }

    static func lines(_ finding: DoctorFinding, _ terminal: TerminalFacts) -> [String] {
        let mark = finding.ok ? terminal.styled("ok  ", .green) : terminal.styled("BAD ", .red)
        var lines = [
            "\(mark) \(TerminalText.shown(finding.check)): \(TerminalText.shown(finding.detail))"
        ]
        if let fix = finding.fix { lines.append("     -> \(TerminalText.shown(fix))") }
        return lines
    }
}
