extension Redaction {
    /// Redacts the text of another program about a request, by what the request itself keeps
    /// secret. libcurl quotes a proxy as it was given, well-formed or not.
    package static func text(_ text: String, hidingSecretsOf connection: ConnectionSettings)
        -> String
    {
        var secrets: [String] = []
        if let proxy = connection.proxy, let userInfo = ProxyAddress.userInfo(of: proxy) {
            secrets += forms(of: String(userInfo))
        }
        if let user = connection.user { secrets += forms(of: user) }
        // The longest first: a password alone is part of the whole.
        secrets.sort { $0.utf8.count > $1.utf8.count }
        return self.text(secrets.reduce(text) { replacing($1, in: $0) })
    }

    /// The forms as given and decoded, with the user and alone.
    private static func forms(of userInfo: String) -> [String] {
        var forms: [String] = []
        for whole in [userInfo, PercentDecoding.text(userInfo)] {
            let bytes = whole.utf8
            if let colon = bytes.firstIndex(of: UInt8(ascii: ":")) {
                if bytes.count > 1 { forms.append(whole) }
                let password = whole[bytes.index(after: colon)...]
                if password.utf8.count >= Limits.redactedPasswordBytes {
                    forms.append(String(password))
                }
            } else if bytes.count >= Limits.redactedPasswordBytes {
                forms.append(whole)
            }
        }
        return forms
    }

    private static func replacing(_ secret: String, in text: String) -> String {
        let (secret, bytes) = (Array(secret.utf8), Array(text.utf8))
        var result: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index...].starts(with: secret) {
                result += Array(mark.utf8)
                index += secret.count
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
