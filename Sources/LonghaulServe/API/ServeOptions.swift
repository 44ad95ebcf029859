package import Longhaul

/// How the server is to be.
package struct ServeOptions: Sendable {
    package var address = "127.0.0.1"
    /// 0 = any that is free.
    package var port = 6800
    package var secret: Secret?
    package var allowedOrigins: Set<String> = []
    package var isReadOnly = false
    /// Absolute; not empty.
    package var directories: [String]
    package var defaults = TransferDefaults()
    package var limits = EngineLimits()

    package init(directories: [String]) {
        self.directories = directories
    }

    /// Reads `ADDR:PORT`, `[ADDR]:PORT` or `PORT`.
    ///
    /// - Throws: `invalidRequest`.
    package mutating func listen(_ text: String) throws(LonghaulError) {
        let colon = text.lastIndex(of: ":")
        let number = colon.map { text[text.index(after: $0)...] } ?? text[...]
        guard let port = UInt16(number) else {
            throw LonghaulError(
                .invalidRequest, "--listen: '\(text)' is not understood; it is ADDRESS:PORT")
        }
        self.port = Int(port)
        guard let colon else { return }
        var address = text[..<colon]
        if address.hasPrefix("["), address.hasSuffix("]") {
            address = address.dropFirst().dropLast()
        }
        if address.isEmpty {
            throw LonghaulError(.invalidRequest, "--listen: the address is missing; see --help")
        }
        self.address = address == "localhost" ? "127.0.0.1" : String(address)
    }

    /// Other machines cannot reach it.
    var isLoopback: Bool {
        address == "::1" || address.hasPrefix("127.")
    }
}
