import ArgumentParser
import Longhaul
import LonghaulPlatform

/// Becomes the program `longhaul-serve`, which is apart so that the command stays small, quick to
/// build and quick to start.
struct Serve: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve the queue over HTTP: a page, an API, aria2's JSON-RPC.",
        discussion: """
            Runs `longhaul-serve`, which stands beside this program; `longhaul serve --help` shows \
            its options.

              longhaul serve
              longhaul serve --listen 0.0.0.0:6800 --secret-file ~/.config/longhaul/secret

            \(ExitStatus.help([.done, .refused, .usage, .storeUnavailable]))
            """)

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        // The arguments are passed on as bytes: a path may not be UTF-8.
        let words = OwnProcess.arguments.drop { $0 != Array("serve".utf8) }.dropFirst()
        let (program, failure) = BackgroundEngine.becomeProgram("longhaul-serve", Array(words))
        throw LonghaulError(
            .unavailable,
            "\(program) cannot be started: \(failure.reason); it is built by "
                + "`swift build --product longhaul-serve`, or by `scripts/longhaul serve`")
    }
}
