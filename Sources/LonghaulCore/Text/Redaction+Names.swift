extension Redaction {
    /// Whether the value of a query parameter of that name is a secret, compared after decoding and
    /// without regard to case.
    ///
    /// There is no list of all that services and programs call such a parameter, and nobody misses
    /// a value that is hidden for nothing: names are judged by the words in them.
    package static func isSecret(parameter name: some StringProtocol) -> Bool {
        let name = PercentDecoding.text(name)
        let lower = name.lowercased()
        return parts.contains(where: lower.contains) || ends.contains(where: lower.hasSuffix)
            || words(of: name).contains(where: secretWords.contains)
    }

    /// Wherever they stand: no other word has them in it.
    private static let parts = [
        "token", "secret", "password", "passwd", "passkey", "passphrase", "passcode", "credential",
        "signature", "session", "sessid", "ticket", "cookie", "authoriz", "oauth", "accesskey",
        "accessid", "hmac",
    ]
    /// `rlkey`, `tempauth`, `urlsig`; with `key` at its end a name rarely is anything else.
    private static let ends = ["key", "auth", "sig"]
    /// Only for themselves, for they are part of others: `keyword`, `design`, `author`, `encode`,
    /// `outside`.
    private static let secretWords: Set<String> = [
        "key", "keys", "sig", "sign", "auth", "authkey", "pass", "pwd", "pw", "pin", "otp", "nonce",
        "jwt", "sas", "sid", "sess", "code", "verify", "verifier", "policy", "bearer", "secure",
        // nginx, Akamai.
        "md5", "mac", "hash", "hdnts", "hdnea", "hdntl", "gda",
    ]

    /// `X-Key`, `auth_key`, `user[key]` and `apiKey` have two each.
    private static func words(of name: String) -> [String] {
        var words: [String] = []
        var word = ""
        var wasSmall = false
        for scalar in name.unicodeScalars {
            let isBig = ("A"..."Z").contains(scalar)
            let isSmall = ("a"..."z").contains(scalar) || ("0"..."9").contains(scalar)
            if (isBig && wasSmall) || !(isBig || isSmall) {
                words.append(word)
                word = ""
            }
            if isBig || isSmall { word.unicodeScalars.append(scalar) }
            wasSmall = isSmall
        }
        words.append(word)
        return words.map { $0.lowercased() }
    }
}
