/// A shorter password stands in many sentences by chance; replacing it would reveal it.
private let redactedPasswordBytes = 4

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
        let bytes = secrets.reduce(Array(text.utf8)) { replacing($1, with: mark, in: $0) }
        return self.text(String(decoding: bytes, as: UTF8.self))
    }

    /// The forms as given and decoded, with the user and alone.
    private static func forms(of userInfo: String) -> [String] {
        var forms: [String] = []
        for whole in [userInfo, PercentDecoding.text(userInfo)] {
            let bytes = whole.utf8
            if let colon = bytes.firstIndex(of: UInt8(ascii: ":")) {
                if bytes.count > 1 { forms.append(whole) }
                let password = whole[bytes.index(after: colon)...]
                if password.utf8.count >= redactedPasswordBytes {
                    forms.append(String(password))
                }
            } else if bytes.count >= redactedPasswordBytes {
                forms.append(whole)
            }
        }
        return forms
    }

    /// Replaces each occurrence, in one pass.
    static func replacing(
        _ old: String, with new: String, in bytes: some Collection<UInt8>
    ) -> [UInt8] {
        let (old, new) = (Array(old.utf8), Array(new.utf8))
        var result: [UInt8] = []
        var index = bytes.startIndex
        while index < bytes.endIndex {
            if bytes[index] == old.first, bytes[index...].starts(with: old) {
                result += new
                index = bytes.index(index, offsetBy: old.count)
            } else {
                result.append(bytes[index])
                index = bytes.index(after: index)
            }
        }
        return result
    }
}
