import ArgumentParser
import Longhaul

struct Report: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Sum up the reports of several runs or machines.",
        discussion: """
            Reads what `get --report` and `upload --wait --report` have written. A transfer that \
            several reports name counts once: as completed, if one of them says so, else as the \
            last one has it. Exit 1 unless all have completed and every run has come to its end.

              longhaul report shard-*.jsonl
              longhaul report --failed shard-*.jsonl | longhaul get -

            \(ExitStatus.help([.done, .transferFailed, .usage]))
            """)

    @Argument(help: "The reports.", completion: .file())
    var files: [String]

    @Flag(help: "Print the lines of incomplete transfers, as input for get and upload.")
    var failed = false

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        var rollup = ReportRollup()
        for file in files { try rollup.read(file) }
        if failed {
            for line in rollup.unfinishedLines { try console.line(line) }
        } else if console.isJSON {
            try console.line { rollup.write(to: &$0) }
        } else {
            for line in rollup.lines { try console.line(line) }
        }
        for file in rollup.unfinishedRuns {
            console.complain(
                "longhaul: \(TerminalText.shown(file)) has no summary: its run was killed, or goes "
                    + "on; run its command again")
        }
        return rollup.isComplete ? .done : .transferFailed
    }
}
