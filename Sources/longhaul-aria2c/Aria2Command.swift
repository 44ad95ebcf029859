import Longhaul
import LonghaulPlatform

/// Takes aria2c's command line, for programs that start aria2c: becomes `longhaul get`, or with
/// `--enable-rpc` records the requests and becomes `longhaul-serve`.
@main
enum Aria2Command {
    static func main() {
        JobSupervisor.serveIfAsked()
        CommandStream.fillStandardStreams()
        do {
            let words = OwnProcess.arguments.map { String(decoding: $0, as: UTF8.self) }
            try perform(Aria2Arguments(words))
        } catch let error as LonghaulError {
            StandardError.write(
                "longhaul-aria2c: \(TerminalText.shown(Redaction.text(error.message)))\n")
            // aria2c's own status for options that it does not understand.
            OwnProcess.exit(error.code == .invalidRequest ? 28 : 1)
        } catch {
            StandardError.write("longhaul-aria2c: \(error)\n")
            OwnProcess.exit(1)
        }
    }

    private static func perform(_ arguments: Aria2Arguments) throws {
        if arguments.isOn("version") || arguments.isOn("help") {
            return try show(
                arguments.isOn("version")
                    // Programs look for the first words.
                    ? "aria2 version 1.37.0\nlonghaul \(LonghaulVersion.current)\n"
                    : "usage: longhaul-aria2c [OPTIONS] [URL…]; docs/serve.md lists the options\n")
        }
        let input = try arguments.program["input-file"].map { path in
            guard let bytes = try TextFile.readInput(path) else {
                throw LonghaulError(.invalidRequest, "--input-file: there is no file \(path)")
            }
            return String(decoding: bytes, as: UTF8.self)
        }
        let isServed = arguments.isOn("enable-rpc")
        if isServed, arguments.urls.isEmpty, input == nil { try serve(arguments) }
        let list = try Aria2List(arguments).text(input: input)
        if isServed {
            try enqueue(list)
            try serve(arguments)
        }
        let descriptor = try SpooledFile.unnamed(in: "/tmp")
        try Array(list.utf8).withUnsafeBytes { try CommandStream.writeAll(descriptor, $0) }
        CommandStream.rewind(descriptor)
        try OwnProcess.setInherited(descriptor)
        var words = ["get", "--input", "/dev/fd/\(descriptor)"]
        if arguments.isOn("quiet") { words.append("--quiet") }
        words += try arguments.parallel()
        throw try become("longhaul", words)
    }

    private static func show(_ text: String) throws {
        try Array(text.utf8).withUnsafeBytes { try CommandStream.writeAll(1, $0) }
    }

    /// Records the list; all or nothing.
    private static func enqueue(_ list: String) throws {
        let directory = try CurrentDirectory.path
        let context = InputContext(
            now: SystemClock.now().wall, secondsFromUTC: LocalClock.secondsFromUTC,
            directory: .success(directory))
        let template = RequestTemplate(directory: directory)
        var entries: [ListedRequest] = []
        for line in list.byteLines where !line.isEmpty {
            var text = String(line)
            try text.withUTF8 { bytes in
                if bytes.first?.isBlank == true, !entries.isEmpty {
                    try entries[entries.count - 1].apply(option: bytes)
                } else {
                    entries.append(
                        try ListedRequest(bytes, template: template, context: context))
                }
            }
        }
        _ = try TransferQueue().enqueue(try entries.map { try $0.finished() })
    }

    private static func serve(_ arguments: Aria2Arguments) throws {
        let address = arguments.isOn("rpc-listen-all") ? "0.0.0.0" : "127.0.0.1"
        let port = arguments.program["rpc-listen-port"] ?? "6800"
        var words = ["--listen", "\(address):\(port)"]
        if arguments.isOn("rpc-allow-origin-all") { words += ["--allow-origin", "*"] }
        if let secret = arguments.program["rpc-secret"], !secret.isEmpty {
            let descriptor = try SpooledFile.unnamed(in: "/tmp")
            try Array(secret.utf8).withUnsafeBytes { try CommandStream.writeAll(descriptor, $0) }
            CommandStream.rewind(descriptor)
            try OwnProcess.setInherited(descriptor)
            words += ["--secret-file", "/dev/fd/\(descriptor)"]
        }
        throw try become("longhaul-serve", words)
    }

    /// The program of this name beside this one.
    private static func become(_ name: String, _ words: [String]) throws -> LonghaulError {
        let (program, failure) = BackgroundEngine.becomeProgram(
            name, words.map { Array($0.utf8) })
        return LonghaulError(.unavailable, "\(program) cannot be started: \(failure.reason)")
    }
}
