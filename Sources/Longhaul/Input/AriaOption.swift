internal import LonghaulCore

/// An option of aria2 that a request of Longhaul can have. One table serves input files, JSON-RPC
/// and the command line of `longhaul-aria2c`.
package struct AriaOption: Sendable {
    typealias Apply = @Sendable (inout ListedRequest, String) throws -> Void

    package let name: String
    /// The letter on aria2's command line.
    package let letter: Character?
    /// `true` and `false` are its values.
    package let isFlag: Bool
    /// The option is repeated, or a list over JSON-RPC.
    package let isList: Bool
    let apply: Apply

    private init(
        _ name: String, _ letter: Character? = nil, isFlag: Bool = false, isList: Bool = false,
        _ apply: @escaping Apply
    ) {
        self.name = name
        self.letter = letter
        self.isFlag = isFlag
        self.isList = isList
        self.apply = apply
    }

    package static func named(_ name: String) -> AriaOption? { byName[name] }

    package static func lettered(_ letter: Character) -> AriaOption? {
        all.first { $0.letter == letter }
    }

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    package static let all: [AriaOption] = [
        AriaOption("out", "o") { try $0.setFile($1) },
        AriaOption("dir", "d") { try $0.setDirectory($1) },
        AriaOption("header", isList: true) { try $0.addHeader($1) },
        AriaOption("checksum") {
            // aria2 writes `sha-256=HEX`.
            let text = $1.replacing("sha-", with: "sha").replacing("=", with: ":")
            $0.request.options.checksum = try OptionText.checksum(text, "checksum")
        },
        AriaOption("referer") { try $0.setReferer($1) },
        AriaOption("user-agent", "U") { try $0.set("User-Agent", to: $1, "user-agent") },
        AriaOption("split", "s") { try $0.setConnections($1, "split") },
        AriaOption("max-connection-per-server", "x") {
            try $0.setConnections($1, "max-connection-per-server")
        },
        AriaOption("max-download-limit") {
            $0.request.options.limitRate = try optionalRate($1, "max-download-limit")
        },
        AriaOption("max-tries", "m") {
            // aria2 counts the first attempt, too, and 0 has no end.
            let count = try OptionText.retries($1, "max-tries")
            $0.request.options.retries = count == 0 ? nil : count - 1
        },
        AriaOption("allow-overwrite", isFlag: true) {
            $0.request.options.ifExists = try flag($1, "allow-overwrite") ? .overwrite : .fail
        },
        AriaOption("auto-file-renaming", isFlag: true) {
            guard $0.request.options.ifExists != .overwrite else { return }
            $0.request.options.ifExists = try flag($1, "auto-file-renaming") ? .rename : .fail
        },
        AriaOption("remote-time", "R", isFlag: true) {
            $0.request.options.remoteTime = try flag($1, "remote-time")
        },
        AriaOption("check-certificate", isFlag: true) {
            $0.request.options.insecure = try !flag($1, "check-certificate")
        },
        AriaOption("load-cookies") {
            $0.request.options.cookiesFrom = try $0.context.absolute($1)
        },
        access("http-user"), access("http-passwd"), access("ftp-user"), access("ftp-passwd"),
        access("http-proxy"), access("https-proxy"), access("ftp-proxy"), access("all-proxy"),
        // Longhaul always continues, and gives ids itself.
        AriaOption("continue", "c", isFlag: true) { _ = try flag($1, "continue") },
        AriaOption("always-resume", isFlag: true) { _ = try flag($1, "always-resume") },
        AriaOption("gid") { _, _ in },
    ]

    private static func access(_ name: String) -> AriaOption {
        AriaOption(name) { _ = try $0.access.apply(name, $1) }
    }

    private static func flag(_ text: String, _ name: String) throws -> Bool {
        guard let flag = Bool(text) else {
            throw LonghaulError.usage("\(name): it is true or false")
        }
        return flag
    }

    /// 0 = no limit.
    private static func optionalRate(_ text: String, _ name: String) throws -> Int64? {
        text == "0" ? nil : try OptionText.rate(text, name)
    }
}
