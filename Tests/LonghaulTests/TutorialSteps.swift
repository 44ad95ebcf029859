import Foundation
import LonghaulTestSupport
import Testing

/// The steps of a DocC tutorial, in their order.
struct TutorialSteps {
    enum Step {
        /// A file of the reader's package, with its path in the package.
        case file(path: String, text: String)
        /// Lines that the reader types.
        case commands(String)
    }

    let steps: [Step]

    /// Reads `FOLDER/NAME.tutorial`, with the code in `FOLDER/Resources`.
    init(_ path: String) throws {
        let file = Article.root.appending(path: path)
        let resources = file.deletingLastPathComponent().appending(path: "Resources")
        let text = try String(contentsOf: file, encoding: .utf8)
        steps = try text.matches(of: /@Code\(name: "([^"]+)", file: "([^"]+)"\)/).map { match in
            let code = try String(
                contentsOf: resources.appending(path: String(match.2)), encoding: .utf8)
            return match.1 == "Terminal"
                ? .commands(code) : .file(path: String(match.1), text: code)
        }
    }
}

/// One shell that is given commands one after the other, as by a reader at a terminal.
final class TypedShell {
    private let files: Scratch
    private let process: CLIProcess
    private var count = 0

    var output: String { process.output }

    init(directory: String, environment: [String: String]) throws {
        files = try Scratch("shell")
        let script = """
            for number in $(seq 1000); do
                until [ -e "$0/$number.typed" ]; do sleep 0.05; done
                . "$0/$number"
                touch "$0/$number.done"
            done
            """
        process = try CLIProcess(
            "/bin/bash", ["-euc", script, files.path], environment: environment,
            directory: directory)
    }

    /// Returns when the commands have ended.
    func type(_ commands: String, within limit: Duration = Patience.usual) async throws {
        count += 1
        try files.write(commands, to: "\(count)")
        try files.write("", to: "\(count).typed")
        try await eventually(within: limit, "end of: \(commands)") {
            files.exists("\(count).done") || !process.isRunning
        }
        try #require(
            process.isRunning, "\(commands)\(process.output.suffix(4000))\(process.errors)")
    }
}
