import ArgumentParser
import Longhaul

struct NetworkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "network",
        abstract: "Name the networks that requests need: --require network=NAME.",
        discussion: """
            A network is recognized by the hardware address of its gateway and by its prefix. With \
            NetworkManager the ids and UUIDs of its connections are names, too.

              longhaul network name home
              longhaul enqueue --require 'network=home|office' https://example.com/big.iso
            """,
        subcommands: [NetworkName.self, NetworkList.self, NetworkForget.self])
}

struct NetworkName: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "name",
        abstract: "Name the network that the machine is on.",
        discussion: """
            The name moves if another network has it. Without a network, or where the gateway has \
            no hardware address (a dialled line), nothing is named.

            \(ExitStatus.help([.done, .refused, .usage, .storeUnavailable]))
            """)

    @Argument(help: "Its name: no comma, bar or colon, and no ! first.")
    var name: String

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let networks = NamedNetworks(try TransferQueue())
        try networks.name(name)
        return try console.show(try networks.all().filter { $0.name == name })
    }
}

struct NetworkList: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the networks that have names.",
        discussion: ExitStatus.help([.done, .usage, .storeUnavailable]))

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        try console.show(try NamedNetworks(TransferQueue()).all())
    }
}

struct NetworkForget: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Remove the name of a network; requests that have it keep waiting.",
        discussion: ExitStatus.help([.done, .refused, .usage, .storeUnavailable]))

    @Argument(help: "The network's name.")
    var name: String

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        try NamedNetworks(TransferQueue()).forget(name)
        if console.isJSON {
            try console.line { $0.object { $0.field("forgotten", name) } }
        } else {
            try console.line("\(TerminalText.shown(name)) is forgotten")
        }
        return .done
    }
}

extension Console {
    fileprivate func show(_ networks: [NamedNetwork]) throws -> ExitStatus {
        if isJSON {
            for network in networks { try line { $0.value(network) } }
            return .done
        }
        let rows = networks.map {
            [
                TerminalText.shown($0.name), $0.gateway, $0.prefixes.joined(separator: ", "),
                $0.isCurrent ? "here" : "",
            ]
        }
        let columns: [TableLayout.Column] = [
            .init(title: "NETWORK"), .init(title: "GATEWAY", dropRank: 1),
            .init(title: "PREFIX", dropRank: 2), .init(title: "NOW"),
        ]
        for text in TableLayout.lines(columns, rows, TerminalFacts.of(1)) { try line(text) }
        return .done
    }
}
