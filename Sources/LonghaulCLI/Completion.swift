import ArgumentParser
import Longhaul

struct Completion: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "completion",
        abstract: "Print a script that completes command lines in a shell.",
        discussion: """
            Commands, options, files, the ids of transfers and the names of sessions.

              source <(longhaul completion bash)
              longhaul completion zsh > ~/.zfunc/_longhaul
              longhaul completion fish > ~/.config/fish/completions/longhaul.fish

            \(ExitStatus.help([.done, .usage]))
            """)

    @Argument(help: "bash, zsh or fish.", completion: .list(["bash", "zsh", "fish"]))
    var shell: String

    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard CompletionShell(rawValue: shell) != nil else {
            throw ValidationError("the shell is bash, zsh or fish")
        }
    }

    func perform(on console: Console) throws -> ExitStatus {
        guard let shell = CompletionShell(rawValue: shell) else { return .usage }
        try console.line(LonghaulCommand.completionScript(for: shell))
        return .done
    }
}
