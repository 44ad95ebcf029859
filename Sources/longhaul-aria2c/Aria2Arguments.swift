import Longhaul

/// aria2c's command line, for HTTP and FTP.
struct Aria2Arguments {
    /// Options of each download, in the order of the command line.
    private(set) var options: [(name: String, value: String)] = []
    /// Options of the program.
    private(set) var program: [String: String] = [:]
    private(set) var urls: [String] = []

    /// Options of the program that mean something here.
    private static let known: [String: Bool] = [
        "input-file": true, "max-concurrent-downloads": true, "force-sequential": false,
        "max-overall-download-limit": true, "quiet": false, "help": false, "version": false,
        "enable-rpc": false, "rpc-listen-port": true, "rpc-secret": true,
        "rpc-listen-all": false, "rpc-allow-origin-all": false,
    ]

    /// Options of aria2's operation and display, which change no file: accepted. `true` = one has a
    /// value.
    private static let passed: [String: Bool] = [
        "allow-piece-length-change": false, "async-dns": false, "auto-save-interval": true,
        "conf-path": true, "connect-timeout": true, "console-log-level": true,
        "disable-ipv6": false, "disk-cache": true, "download-result": true,
        "enable-color": false, "enable-http-keep-alive": false,
        "enable-http-pipelining": false, "file-allocation": true, "force-save": false,
        "http-accept-gzip": false, "human-readable": false, "log-level": true,
        "max-file-not-found": true, "min-split-size": true, "no-conf": false,
        "no-file-allocation-limit": true, "optimize-concurrent-downloads": false,
        "piece-length": true, "remove-control-file": false, "retry-wait": true,
        "save-session-interval": true, "server-stat-of": true, "show-console-readout": false,
        "socket-recv-buffer-size": true, "stderr": false, "stream-piece-selector": true,
        "summary-interval": true, "timeout": true, "truncate-console-readout": false,
        "uri-selector": true, "use-head": false,
    ]

    private static let letters: [Character: String] = [
        "i": "input-file", "j": "max-concurrent-downloads", "Z": "force-sequential", "q": "quiet",
        "h": "help", "v": "version", "k": "min-split-size", "t": "timeout",
        "a": "file-allocation",
    ]

    /// - Throws: `invalidRequest` names the unknown option.
    init(_ words: [String]) throws(LonghaulError) {
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--" {
                urls += rest
                return
            }
            if word.hasPrefix("--") {
                try readLong(word.dropFirst(2), &rest)
            } else if word.hasPrefix("-"), word.count > 1 {
                try readShort(word, &rest)
            } else {
                urls.append(word)
            }
        }
    }

    private mutating func readLong(
        _ word: Substring, _ rest: inout ArraySlice<String>
    ) throws(LonghaulError) {
        let sides = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(sides[0])
        var value = sides.count > 1 ? String(sides[1]) : nil
        guard let hasValue = Self.hasValue(name) else {
            throw .usage("--\(name) is no option that Longhaul has")
        }
        if hasValue, value == nil {
            guard let next = rest.popFirst() else { throw .usage("--\(name) needs a value") }
            value = next
        }
        set(name, value ?? "true")
    }

    private mutating func readShort(
        _ word: String, _ rest: inout ArraySlice<String>
    ) throws(LonghaulError) {
        var letters = word.dropFirst()
        while let letter = letters.popFirst() {
            guard
                let name = AriaOption.lettered(letter)?.name ?? Self.letters[letter],
                let hasValue = Self.hasValue(name)
            else { throw .usage("-\(letter) is no option that Longhaul has") }
            if !hasValue {
                // `-c=false` is not possible, `-ctrue` is.
                let isValue = letters == "true" || letters == "false"
                set(name, isValue ? String(letters) : "true")
                if isValue { return }
                continue
            }
            if letters.first == "=" { letters.removeFirst() }
            guard let value = letters.isEmpty ? rest.popFirst() : String(letters) else {
                throw .usage("-\(letter) needs a value")
            }
            set(name, value)
            return
        }
    }

    private mutating func set(_ name: String, _ value: String) {
        if AriaOption.named(name) != nil {
            options.append((name, value))
        } else if Self.known[name] != nil {
            program[name] = value
        }
    }

    /// `nil` = there is no such option.
    private static func hasValue(_ name: String) -> Bool? {
        if let option = AriaOption.named(name) { return !option.isFlag }
        return known[name] ?? passed[name]
    }

    func isOn(_ name: String) -> Bool { program[name] == "true" }

    /// The words for `longhaul get` that stand for `-j`. aria2c has no upper bound.
    func parallel() throws(LonghaulError) -> [String] {
        guard let text = program["max-concurrent-downloads"] else { return [] }
        guard let number = Int(text), number >= 1 else {
            throw .usage("--max-concurrent-downloads: '\(text)' is no number from 1")
        }
        return ["--parallel", "\(min(number, Limits.configuredAtOnce.upperBound))"]
    }
}
