package import Longhaul
internal import LonghaulPlatform

/// Options of the server.
package struct ServeOptions: Sendable {
    package var address = "127.0.0.1"
    /// 0 = any that is free.
    package var port = 6800
    package var secret: Secret?
    package var allowedOrigins: Set<String> = []
    package var isReadOnly = false
    /// Clients may create, change and remove jobs: run any program. Needs a secret.
    package var allowsJobs = false
    /// Absolute; not empty.
    package var directories: [String]
    package var defaults = TransferDefaults()
    package var limits = EngineLimits()
    /// The path of the configuration file; `nil` = no file.
    package var configuration: String?

    package init(directories: [String]) {
        self.directories = directories
    }

    /// Reads `ADDR:PORT`, `[ADDR]:PORT` or `PORT`.
    ///
    /// - Throws: `invalidRequest`.
    package mutating func listen(_ text: String) throws(LonghaulError) {
        let colon = text.lastIndex(of: ":")
        let number = colon.map { text[text.index(after: $0)...] } ?? text[...]
        guard let port = String(number).decimalValue.flatMap({ UInt16(exactly: $0) }) else {
            throw LonghaulError(
                .invalidRequest, "--listen: '\(text)' is not understood; it is ADDRESS:PORT")
        }
        self.port = Int(port)
        guard let colon else { return }
        var address = text[..<colon]
        if address.hasPrefix("["), address.hasSuffix("]") {
            address = address.dropFirst().dropLast()
        }
        if address == "localhost" { address = "127.0.0.1" }
        // A name may lead to another address tomorrow; which ones need a secret is decided today.
        if HostAddress(address) == nil {
            throw LonghaulError(
                .invalidRequest,
                "--listen: '\(address)' is not an address; it is one such as 127.0.0.1 or [::1], "
                    + "or localhost")
        }
        self.address = String(address)
    }

    /// Lets the pages of an origin use the server; `*` = all pages.
    ///
    /// - Throws: `invalidRequest`.
    package mutating func allow(origin text: String) throws(LonghaulError) {
        let text = text.trimmingBlanks
        guard let origin = text == "*" ? text : WebOrigin.normal(text) else {
            throw LonghaulError(
                .invalidRequest,
                "--allow-origin: '\(text)' is not an origin; it is one such as "
                    + "https://ariang.example or http://nas:8080, or *")
        }
        allowedOrigins.insert(origin)
    }

    /// Refuses options that would admit every client.
    ///
    /// - Throws: `conflict`.
    func check() throws(LonghaulError) {
        if secret != nil { return }
        if !isLoopback {
            throw LonghaulError(
                .conflict,
                "\(address) can be reached by others, which needs a secret: --secret-file FILE")
        }
        if allowsJobs {
            throw LonghaulError(
                .conflict,
                "--allow-jobs lets clients run any program, which needs a secret: "
                    + "--secret-file FILE")
        }
        if allowedOrigins.contains("*") {
            throw LonghaulError(
                .conflict,
                "--allow-origin '*' lets every page of the web use the server, which needs a "
                    + "secret: --secret-file FILE")
        }
    }

    /// Other machines cannot reach it.
    var isLoopback: Bool { HostAddress(address)?.isLoopback ?? false }

    /// The warning printed at the start; `nil` = no warning.
    package var warning: String? {
        secret == nil
            ? "every user of this machine may use it; `longhaul serve --new-secret` makes a secret "
                + "for --secret-file" : nil
    }
}
