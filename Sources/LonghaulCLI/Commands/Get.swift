import ArgumentParser
import Longhaul
import LonghaulPlatform

struct Get: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Transfer now, and wait for it.",
        discussion: """
            Prints where the files are. The first Ctrl-C leaves the transfers paused with all \
            their bytes and says how to go on. A running engine does the work; without one, this \
            process does. The same command again goes on with what an earlier one has left.

              longhaul get https://example.com/big.iso
              longhaul get -d ~/Downloads https://example.com/a https://example.com/b
              longhaul get -o a.tar --if-exists overwrite https://example.com/a.tar

            \(ExitStatus.help(endings))
            """)

    private static let endings: [ExitStatus] = [
        .done, .transferFailed, .noSuchTransfer, .refused, .usage, .storeUnavailable, .interrupted,
    ]

    @Argument(help: "What to fetch.")
    var urls: [String]

    @Flag(name: .shortAndLong, help: "No progress.")
    var quiet = false

    @OptionGroup var request: RequestOptions
    @OptionGroup(title: "Output") var output: OutputOptions

    var isQuiet: Bool { quiet }

    func perform(on console: Console) throws -> ExitStatus {
        let configuration = try ConfigurationFile.read()
        let template = try request.template(.current(), configuration.defaults)
        let requests = try template.requests(urls: urls)
        return try AwaitedTransfers(
            requests, isCompared: request.moving.checksum == nil, configuration.limits
        ).perform(on: console)
    }
}

extension Console {
    /// Prints the outcome of a transfer: where its file is, or why there is none.
    func result(_ transfer: Transfer) throws {
        if isJSON { return try line { $0.transfer(transfer) } }
        switch transfer.state {
        case .completed:
            if transfer.isSkipped {
                skipped(transfer.destination, isCompared: transfer.checksum == nil)
            }
            if let coding = transfer.contentCoding {
                complain("longhaul: \(transfer.id): content coding \(TransferText.coding(coding))")
            }
            try line(path: transfer.destination)
        case .failed:
            var error = transfer.error ?? LonghaulError(.internal, "it failed")
            error.transferID = transfer.id
            try refuse(error)
            if error.bytesKept > 0 {
                complain(
                    "longhaul: \(transfer.id): \(Units.size(error.bytesKept)) are kept; "
                        + "go on with: longhaul retry \(transfer.id)")
            }
        case .cancelled: complain("longhaul: \(transfer.id): cancelled")
        case .waiting, .running, .paused: return
        }
    }
}
