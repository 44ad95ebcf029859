package import LonghaulModel

/// Logins of registries, in Docker's `config.json` and the `auth.json` of containers-auth.json(5).
package enum RegistryLogins {
    /// `USER:PASSWORD` for the image; `nil` = the file has no login for it.
    ///
    /// - Throws: `unauthorized` if another program has the login, or if the file cannot be read.
    package static func login(
        for image: BundleSource, in file: [UInt8]
    ) throws(LonghaulError) -> String? {
        var logins: [String: Login] = [:]
        var isStored = false
        var helpers: Set<String> = []
        do {
            try file.withUnsafeBufferPointer { bytes in
                var scanner = JSONScanner(bytes)
                try scanner.object { key, scanner in
                    switch key {
                    case "auths":
                        try scanner.object { key, scanner in
                            logins[normal(key)] = try Login(&scanner)
                        }
                    case "credsStore": isStored = try !scanner.string().isEmpty
                    case "credHelpers":
                        try scanner.object { key, scanner in
                            _ = try scanner.string()
                            helpers.insert(normal(key))
                        }
                    default: try scanner.skip()
                    }
                }
                try scanner.end()
            }
        } catch {
            throw LonghaulError(
                .unauthorized,
                "the file with the logins of registries cannot be read "
                    + "(\(TerminalText.shown("\(error)"))); mend it")
        }
        // The nearest one: of the image, of its directory, of the registry.
        var place = image.name
        while !place.isEmpty {
            if helpers.contains(place) { throw .keptElsewhere(place) }
            if let login = logins[place] {
                if let text = login.text { return text }
                if isStored || login.isToken { throw .keptElsewhere(place) }
            }
            place = FileNaming.directory(of: place)
        }
        return nil
    }

    /// `docker.io` of `https://index.docker.io/v1/`.
    private static func normal(_ key: String) -> String {
        var text = key[...]
        if let mark = text.firstRange(of: "://") { text = text[mark.upperBound...] }
        for end in ["/", "/v1", "/v2"] where text.hasSuffix(end) { text = text.dropLast(end.count) }
        return text == "index.docker.io" ? "docker.io" : String(text)
    }

    private struct Login {
        /// User and password.
        private(set) var text: String?
        /// Only a token is there, which is renewed by its own program.
        private(set) var isToken = false

        init(_ scanner: inout JSONScanner) throws {
            try scanner.object { key, scanner in
                switch key {
                case "auth":
                    let bytes = Base64.decode(try scanner.string())
                    let login = bytes.flatMap { String(validating: $0, as: UTF8.self) } ?? ""
                    text = login.contains(":") ? login : nil
                case "identitytoken": isToken = try !scanner.string().isEmpty
                default: try scanner.skip()
                }
            }
            if isToken { text = nil }
        }
    }
}

extension LonghaulError {
    fileprivate static func keptElsewhere(_ registry: String) -> LonghaulError {
        LonghaulError(
            .unauthorized,
            "the login of \(TerminalText.shown(registry)) is kept by a credential helper, which is "
                + "not asked; log in with `podman login`, which writes it to a file")
    }
}
