import ArgumentParser
import Longhaul

struct ConditionsCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "conditions",
        abstract: "Show the machine's state: power, battery, network, idle, saver, mounted.",
        discussion: """
            Each condition with its source and since when, as far as this is known. --set \
            overrides the machine, for every command on this queue, until --clear; \
            LONGHAUL_CONDITIONS overrides both.

              longhaul conditions
              longhaul conditions --json | jq 'select(.condition == "network").value'
              longhaul conditions --set power=external,idle=yes
              longhaul conditions --clear

              power=external|battery     battery=0…100
              network=unmetered|metered|offline     idle=yes|no
              saver=on|off                mounted=NAME,…|none
              network=unmetered:home      each may be unknown

            A network has a name by `longhaul network name` or by NetworkManager. Shown as mounted \
            are file systems that requests name.

            \(ExitStatus.help([.done, .usage, .storeUnavailable]))
            """)

    @Option(help: ArgumentHelp("Override conditions from now on.", valueName: "k=v,…"))
    var set: String?

    @Flag(help: "Forget all overrides.")
    var clear = false

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        // Validated before anything is changed.
        let wanted = try set.map { text throws(LonghaulError) in
            try ConditionOverride(parsing: text)
        }
        let queue = try TransferQueue()
        if clear { try queue.clearOverride() }
        if let wanted { try queue.keepOverride(wanted) }
        let conditions = try queue.conditions()
        if console.isJSON {
            for kind in ConditionKind.allCases {
                try console.line { $0.value((kind, conditions), as: ConditionKind.fields) }
            }
            return .done
        }
        let terminal = TerminalFacts.of(1)
        for line in ConditionsTable.lines(conditions, time: .current(), terminal: terminal) {
            try console.line(line)
        }
        return .done
    }
}

/// The table that `conditions` prints.
enum ConditionsTable {
    static func lines(
        _ conditions: Conditions, time: TimeText, terminal: TerminalFacts
    ) -> [String] {
        let rows = ConditionKind.allCases.map { kind in
            [kind.rawValue] + cells(kind, of: conditions, time)
        }
        return TableLayout.lines(
            [
                .init(title: "CONDITION"), .init(title: "VALUE"),
                .init(title: "SOURCE", dropRank: 1), .init(title: "SINCE", dropRank: 2),
            ], rows, terminal)
    }

    private static func cells(
        _ kind: ConditionKind, of conditions: Conditions, _ time: TimeText
    ) -> [String] {
        let reading = conditions[kind]
        let name = kind == .network ? conditions.network.name.map { " (\($0))" } ?? "" : ""
        return [
            TerminalText.shown(
                (reading.value.map { kind.form == .percent ? $0 + "%" : $0 } ?? "unknown") + name),
            TerminalText.shown(reading.source), reading.since.map { time.full($0) } ?? "",
        ]
    }
}
