/// The files that hold secrets of a request. Only their paths are stored; they are read for each
/// request, so that renewed secrets are used.
package struct SecretFiles: Hashable, Sendable {
    /// Lines `Name: value` (``TransferOptions/headersFrom``).
    package var headers: String?
    /// A line `user:password` (``TransferOptions/userFrom``).
    package var user: String?
    /// Netscape's format (``TransferOptions/cookiesFrom``).
    package var cookies: String?

    package init(headers: String? = nil, user: String? = nil, cookies: String? = nil) {
        self.headers = headers
        self.user = user
        self.cookies = cookies
    }

    package var isEmpty: Bool { self == SecretFiles() }

    /// Reads the files.
    ///
    /// - Parameter text: Reads a file; `nil` = it does not exist.
    package func secrets(
        _ text: (String) throws(SecretFileProblem) -> String?
    ) throws(SecretFileProblem) -> RequestSecrets {
        func lines(_ path: String?) throws(SecretFileProblem) -> [(number: Int, text: String)] {
            guard let path else { return [] }
            guard var all = try text(path) else { throw .missing(path) }
            // Editors of Windows put a byte order mark first.
            if all.unicodeScalars.first == "\u{FEFF}" { all.unicodeScalars.removeFirst() }
            return all.byteLines.enumerated().map { ($0 + 1, String($1)) }
        }
        var secrets = RequestSecrets()
        for line in try lines(headers) where !isComment(line.text) {
            do throws(HeaderProblem) {
                let field = try HeaderFields.Field(parsing: line.text)
                secrets.fields.append(name: field.name, value: field.value)
            } catch {
                throw .malformed(
                    headers ?? "", line: line.number, "is no header field `Name: value`")
            }
        }
        if let line = try lines(user).first(where: { !$0.text.trimmingBlanks.isEmpty }) {
            guard line.text.utf8.contains(UInt8(ascii: ":")) else {
                throw .malformed(user ?? "", line: line.number, "is not `user:password`")
            }
            secrets.user = line.text
        } else if let user {
            throw .malformed(user, line: 1, "is not `user:password`")
        }
        secrets.cookies = try cookies(try lines(cookies))
        return secrets
    }

    /// A malformed line, for any site, costs no other line. A file without one good line is no
    /// cookie file.
    private func cookies(
        _ lines: [(number: Int, text: String)]
    ) throws(SecretFileProblem) -> [Cookie] {
        var (found, firstBad): ([Cookie], Int?) = ([], nil)
        for line in lines {
            let isMarked = line.text.hasPrefix(Cookie.httpOnlyPrefix)
            if !isMarked, isComment(line.text) { continue }
            if let cookie = Cookie(line.text) {
                found.append(cookie)
            } else {
                firstBad = firstBad ?? line.number
            }
        }
        if found.isEmpty, let firstBad {
            throw .malformed(
                cookies ?? "", line: firstBad, "has not the seven fields of a Netscape cookie file")
        }
        return found
    }

    private func isComment(_ line: String) -> Bool {
        line.trimmingBlanks.isEmpty || line.utf8.first == UInt8(ascii: "#")
    }
}

/// The secrets in the files of a request.
package struct RequestSecrets: Hashable, Sendable {
    package var fields = HeaderFields()
    package var user: String?
    package var cookies: [Cookie] = []

    package init() {}
}

/// A line of a Netscape cookie file: domain, whether subdomains have it, path, whether it is for
/// TLS, expiry, name and value, parted by tabs.
package struct Cookie: Hashable, Sendable {
    /// The whole line, as libcurl reads it (CURLOPT_COOKIELIST).
    package let line: String
    private let domain: String

    static let httpOnlyPrefix = "#HttpOnly_"

    /// `nil` = not such a line. A value that is empty may be missing with its tab.
    init?(_ line: String) {
        let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
        guard (6...7).contains(fields.count) else { return nil }
        var domain = fields[0]
        if domain.hasPrefix(Self.httpOnlyPrefix) {
            domain = domain.dropFirst(Self.httpOnlyPrefix.count)
        }
        if domain.hasPrefix(".") { domain = domain.dropFirst() }
        if domain.isEmpty { return nil }
        self.line = line
        self.domain = domain.lowercased()
    }

    /// The cookie may be for this host; libcurl decides by the other fields.
    package func mayGo(to host: String) -> Bool {
        let host = host.lowercased()
        return host == domain || host.hasSuffix("." + domain)
    }
}

/// Why a file of secrets is of no use.
package enum SecretFileProblem: Error, Hashable, Sendable {
    case missing(String)
    /// The file, and the system's reason.
    case unreadable(String, String)
    /// The file, the line, and the problem. Excludes its text: it is a secret.
    case malformed(String, line: Int, String)

    /// A sentence without advice.
    package var said: String {
        switch self {
        case .missing(let path): "there is no file \(TerminalText.shown(path))"
        case .unreadable(let path, let reason):
            "\(TerminalText.shown(path)) cannot be read (\(reason))"
        case .malformed(let path, let line, let what):
            "line \(line) of \(TerminalText.shown(path)) \(what)"
        }
    }
}
