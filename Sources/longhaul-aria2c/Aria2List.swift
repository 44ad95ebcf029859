import Longhaul

/// The requests of an aria2c command line, as a list in aria2's own format: `longhaul get --input`
/// reads it.
struct Aria2List {
    private let arguments: Aria2Arguments

    init(_ arguments: Aria2Arguments) {
        self.arguments = arguments
    }

    /// - Parameter input: The content of the file of `-i`.
    /// - Throws: `invalidRequest` when nothing is asked for, or too much.
    func text(input: String?) throws(LonghaulError) -> String {
        var entries: [(urls: String, options: [Substring])] = []
        for url in arguments.urls {
            // Such a character would begin another line, a mirror or a comment in a list.
            let isBad = url.utf8.contains { $0 <= 0x20 || $0 == 0x7F }
            if isBad || url.isEmpty || url.utf8.first == UInt8(ascii: "#") {
                throw .usage(
                    "'\(TerminalText.shown(url))' is no URL: it is empty, begins with #, or has a "
                        + "space or a control character in it")
            }
        }
        if !arguments.urls.isEmpty {
            // The URLs of a command line are one file's.
            let lines =
                arguments.isOn("force-sequential")
                ? arguments.urls : [arguments.urls.joined(separator: "\t")]
            entries += lines.map { ($0, []) }
        }
        for line in (input ?? "").byteLines {
            let text = line.trimmingBlanks
            if text.isEmpty || text.utf8.first == UInt8(ascii: "#") { continue }
            if line.utf8.first?.isBlank == true, !entries.isEmpty {
                entries[entries.count - 1].options.append(line)
            } else {
                entries.append((String(line), []))
            }
        }
        if entries.isEmpty { throw .usage("no URL is given; -i FILE or URLs") }
        if entries.count > 1, arguments.options.contains(where: { $0.name == "out" }) {
            throw .usage("-o names one file; there are \(entries.count)")
        }
        let common = try commonLines(count: Int64(entries.count))
        return entries.map { entry in
            ([entry.urls] + common + entry.options.map(String.init)).joined(separator: "\n") + "\n"
        }.joined()
    }

    private func commonLines(count: Int64) throws(LonghaulError) -> [String] {
        // aria2 renames a file by default.
        var lines = [" auto-file-renaming=true"]
        if let limit = arguments.program["max-overall-download-limit"], limit != "0" {
            let rate = try OptionText.rate(limit, "--max-overall-download-limit")
            // Each has its part, so that the whole is never more.
            lines.append(" max-download-limit=\(max(1, rate / count))")
        }
        for option in arguments.options {
            if option.value.utf8.contains(where: { $0 == 0x0A || $0 == 0x0D }) {
                throw .usage("--\(option.name): there is a line break in it")
            }
            lines.append(" \(option.name)=\(option.value)")
        }
        return lines
    }
}
