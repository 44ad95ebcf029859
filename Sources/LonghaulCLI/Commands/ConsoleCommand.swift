import ArgumentParser
import Longhaul
import LonghaulPlatform

/// A command that writes to a console and returns an exit status.
protocol ConsoleCommand: ParsableCommand {
    var output: OutputOptions { get }

    /// True if only results and errors are shown.
    var isQuiet: Bool { get }

    func perform(on console: Console) throws -> ExitStatus
}

struct OutputOptions: ParsableArguments {
    @Flag(help: "Print one JSON object per line.")
    var json = false
}

extension ConsoleCommand {
    func runOnStandardStreams() -> ExitStatus {
        run(on: Console.standard(isJSON: output.json, isQuiet: isQuiet))
    }

    var isQuiet: Bool { false }

    func run(on console: Console) -> ExitStatus {
        console.run { try perform(on: console) }
    }
}

extension TransferQueue {
    /// Opens the queue for a command that only shows its contents.
    static func toShow(on console: Console) throws(LonghaulError) -> TransferQueue {
        let queue = try TransferQueue(nil, isToShow: true)
        if let version = queue.newerVersion {
            console.say(
                "longhaul: a newer version has written this queue (version \(version)); longhaul"
                    + " \(LonghaulVersion.current) shows what it can read, and changes nothing")
        }
        return queue
    }
}

extension Console {
    /// Turns errors into messages and an exit status.
    func run(_ body: () throws -> ExitStatus) -> ExitStatus {
        do {
            let status = try body()
            try flush()
            return status
        } catch {
            switch error {
            case let error as LonghaulError: try? refuse(error)
            case let problem as InputProblem: try? refuse(problem.error, line: problem.line)
            default: break
            }
            try? flush()
            return ExitStatus(error)
        }
    }

    static func standard(isJSON: Bool, isQuiet: Bool = false) -> Console {
        Console(
            results: ByteStream(descriptor: 1), diagnostics: ByteStream(descriptor: 2),
            isJSON: isJSON, isQuiet: isQuiet, isTerminal: CommandStream.isTerminal(1))
    }
}
