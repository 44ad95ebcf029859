/// Reads lists of URLs line by line: one URL a line, or aria2 input files, of which a plain list is
/// the simplest. Further URLs of the same file follow a tab; indented lines give options to the URL
/// above them; `#` begins a comment line.
///
/// A value that is fed lines and hands out entries, each when the line after its last has come:
/// memory holds one.
package struct URLList: Sendable {
    package struct Entry: Hashable, Sendable {
        /// Of its URLs.
        package var line: Int
        /// The first is the URL, the others are mirrors.
        package var urls: [String]
        package var options = URLListOptions()
    }

    package struct Problem: Error, Hashable, Sendable {
        package var line: Int
        /// Without secrets.
        package var message: String
    }

    /// What a line brought: the entry that it ended, and what is wrong with the line itself.
    package struct Output: Hashable, Sendable {
        package var entry: Entry?
        package var problem: Problem?
    }

    private var number = 0
    private var entry: Entry?
    /// The entry above had a problem: its remaining options are passed over.
    private var isSkipping = false

    package init() {}

    /// Takes the next line, without its line feed.
    package mutating func take(_ line: some StringProtocol) -> Output {
        number += 1
        var text = Substring(line)
        if number == 1, text.utf8.starts(with: [0xEF, 0xBB, 0xBF]) {
            text = Substring(text.utf8.dropFirst(3))  // byte order mark
        }
        let isIndented = text.utf8.first?.isBlank == true
        if text.utf8.last == 0x0D { text = Substring(text.utf8.dropLast()) }
        text = text.trimmingBlanks
        guard let first = text.utf8.first, first != UInt8(ascii: "#") else { return Output() }
        return isIndented ? takeOption(text) : takeURLs(text)
    }

    /// The last entry. Call it once, after the last line.
    package mutating func finish() -> Entry? {
        defer { entry = nil }
        return entry
    }

    private mutating func takeURLs(_ text: Substring) -> Output {
        var output = Output(entry: finish())
        isSkipping = false
        var urls: [String] = []
        for part in text.utf8.split(separator: 0x09) {
            let url = String(Substring(part).trimmingBlanks)
            if url.isEmpty { continue }
            do {
                _ = try URLParts(url)
                urls.append(url)
            } catch {
                output.problem = problem("'\(TerminalText.shown(Redaction.url(url)))': \(error)")
                isSkipping = true
                return output
            }
        }
        entry = Entry(line: number, urls: urls)
        return output
    }

    private mutating func takeOption(_ text: Substring) -> Output {
        if isSkipping { return Output() }
        guard entry != nil else { return refuse("an option without a URL above it") }
        guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) else {
            return refuse("'\(TerminalText.shown(String(text)))' is no option; write name=value")
        }
        let name = String(text[..<equals].trimmingBlanks)
        let value = String(Substring(text.utf8[equals...].dropFirst()).trimmingBlanks)
        if let complaint = entry?.options.set(name, to: value) { return refuse(complaint) }
        return Output()
    }

    private mutating func refuse(_ message: String) -> Output {
        entry = nil
        isSkipping = true
        return Output(problem: problem(message))
    }

    private func problem(_ message: String) -> Problem {
        Problem(line: number, message: message)
    }
}

/// The options of one entry: aria2's names and meanings. `nil` = not given.
package struct URLListOptions: Hashable, Sendable {
    package var out: String?
    package var directory: String?
    package var headers: [HeaderFields.Field] = []
    package var checksum: Checksum?
    package var user: String?
    package var password: String?
    package var proxy: String?
    package var limitRate: Int64?
    package var connections: Int?

    package init() {}

    /// `user:password`, as ``TransferOptions/user`` has it.
    package var credentials: String? {
        user.map { name in password.map { "\(name):\($0)" } ?? name }
    }

    /// - Returns: what is wrong; `nil` if nothing is. Values are not repeated where they may be
    ///   secrets.
    mutating func set(_ name: String, to value: String) -> String? {
        switch name {
        case "out": return setText(\.out, value, name)
        case "dir": return setText(\.directory, value, name)
        case "header": return addHeader(value)
        case "user-agent": return addHeader("User-Agent: \(value)")
        case "referer": return addHeader("Referer: \(value)")
        case "http-user", "ftp-user": return setText(\.user, value, name)
        case "http-passwd", "ftp-passwd": return setText(\.password, value, name)
        case "all-proxy", "http-proxy", "https-proxy", "ftp-proxy":
            return setText(\.proxy, value, name)
        case "checksum":
            checksum = Checksum(parsing: value)
            return checksum == nil ? "checksum: write sha-256=HEX, or sha-512, sha-1, md5" : nil
        case "max-download-limit":
            guard let size = SizeText.parse(value) else { return "\(name): write 500K or 10M" }
            limitRate = size == 0 ? nil : size
            return nil
        case "split", "max-connection-per-server":
            guard let count = value.decimalValue, count > 0 else {
                return "\(name): write a number"
            }
            connections = Int(min(count, Int64(Limits.segmentsPerFetch)))
            return nil
        default: return "the option \(TerminalText.shown(name)) is not known"
        }
    }

    private mutating func setText(
        _ path: WritableKeyPath<URLListOptions, String?>, _ value: String, _ name: String
    ) -> String? {
        if value.isEmpty { return "\(name): it is empty" }
        // No path, name or secret has a NUL, and none could be handed to the system with one.
        if value.utf8.contains(0) { return "\(name): it contains a NUL" }
        self[keyPath: path] = value
        return nil
    }

    private mutating func addHeader(_ text: String) -> String? {
        do {
            headers.append(try HeaderFields.Field(parsing: text))
            return nil
        } catch {
            return "header: \(error)"
        }
    }
}
