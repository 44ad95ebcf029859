@testable import LonghaulCore
@testable import LonghaulModel
@testable import LonghaulTransport

let addressTargets: [FuzzTarget] = [
    FuzzTarget("url", text: url),
    FuzzTarget("location", text: location),
    FuzzTarget("redaction", text: redaction),
    FuzzTarget("name", text: name),
    FuzzTarget("percent", text: percent),
]

/// What is checked of a URL is what libcurl connects to, and no secret of it is shown.
private func url(_ text: String) throws {
    let shown = Redaction.url(text)
    try check(Redaction.url(shown) == shown, "\(shown) has more to redact")
    guard let parts = try? URLParts(text) else { return }
    if let canonical = CanonicalURL.of(text) {
        try check(CanonicalURL.of(canonical) == canonical, "\(canonical) is not canonical")
        try check(CanonicalURL.areSame(text, canonical), "\(canonical) is another URL")
    }
    if parts.userInfo != nil {
        // With a second user in its path, what is shown need not be a URL.
        let isHidden = (try? URLParts(shown)).map { $0.userInfo == Redaction.mark }
        try check(isHidden ?? shown.contains("\(Redaction.mark)@"), "\(shown) shows a user")
    }
    if let theirs = RequestURL(text) {
        try check(theirs.origin.scheme == parts.scheme.rawValue, "another scheme")
        try check(
            theirs.origin.port == "\(parts.port)", "libcurl has the port \(theirs.origin.port)")
        try checkHost(parts.host, theirs.origin.host)
        if parts.userInfo == nil {
            // An empty user is none.
            let user = (theirs.user ?? "") + (theirs.password ?? "")
            try check(user.isEmpty, "libcurl has a user")
        }
    }
    try checkName(FileNaming.name(from: parts))
}

/// libcurl decodes hosts, writes addresses shorter and keeps a zone apart: only plain names are
/// compared.
private func checkHost(_ own: String, _ theirs: String) throws {
    let isName = own.utf8.allSatisfy { $0.isASCIILetter || $0 == 0x2D || $0 == 0x2E }
    if isName { try check(own == theirs, "libcurl goes to \(theirs), not \(own)") }
}

/// The first line is a URL that answered, the second the `Location` of the answer.
private func location(_ text: String) throws {
    let lines = text.byteLines.map(String.init)
    guard lines.count > 1, let base = try? URLParts(lines[0]) else { return }
    if let address = UploadAddress.resolve(lines[1], at: lines[0]) {
        guard let parts = try? URLParts(address) else {
            throw Broken(description: "\(address) is no URL")
        }
        try check(parts.scheme == .http || parts.scheme == .https, "\(address) is not HTTP")
        if base.scheme == .https { try check(parts.scheme == .https, "a downgrade") }
        if Array(lines[1].utf8).firstRange(of: Array("//".utf8)) == nil {
            try check(parts.origin == base.origin, "\(address) is at another server")
        }
    }
    if let base = RequestURL(lines[0]), let next = RequestURL(location: lines[1], base: base) {
        let again = RequestURL(next.text)
        if let again { try check(again.origin == next.origin, "\(next.text) is elsewhere") }
    }
    try remoteFile(lines[0])
    _ = FileNaming.name(redirectedTo: lines[1], from: lines[0])
}

/// A sentence shows no part of a secret that stands where URLs have one.
private func redaction(_ text: String) throws {
    let shown = Redaction.text(text)
    try check(Redaction.text(shown) == shown, "\(shown) has more to redact")
    let hidden = text.utf8.filter {
        $0 > 0x20 && $0 < 0x7F && !"@/?#\\\"'<>:;&=".utf8.contains($0)
    }
    let secret = "zq\(String(decoding: hidden.prefix(40), as: UTF8.self))"
    for url in ["https://u:\(secret)@h/f", "https://h/f?token=\(secret)&a=1", "u:\(secret)@h:80"] {
        let sentence = Redaction.text("cannot reach \(url) (\(text.filter { $0 != "z" }))")
        try check(!sentence.contains(secret), "\(sentence) shows \(secret)")
    }
    let terminal = TerminalText.shown(text)
    try check(TerminalText.shown(terminal) == terminal, "'\(terminal)' is not shown as written")
}

private func name(_ text: String) throws {
    guard let name = FileNaming.sanitised(text) else { return }
    try checkName(name)
    try check(FileNaming.sanitised(name) == name, "'\(name)' becomes another name")
    let portable = FileNaming.portable(name)
    try check(portable.isEmpty || FileNaming.isPortable(portable), "'\(portable)' fits not all")
    for number in [1, 1_000_000] {
        let numbered = FileNaming.numbered(name, number)
        try check(numbered.utf8.count <= Limits.fileNameBytes, "'\(numbered)' is too long")
    }
}

private func percent(_ text: String) throws {
    let bytes = PercentDecoding.bytes(of: text)
    try check(bytes.count <= text.utf8.count, "decoding adds bytes")
    try checkRoundTrip(bytes, PercentDecoding.bytes(of: PercentEncoding.encode(bytes)))
    _ = PercentDecoding.text(text)
    if let bytes = Base64.decode(text) { try check(bytes.count <= text.utf8.count, "Base64") }
}

/// A name beside a file sent by SFTP or FTP is at its server, in its directory.
private func remoteFile(_ url: String) throws {
    guard let file = RemoteFile(url), file.problem == nil, let parts = try? URLParts(url) else {
        return
    }
    let beside = try? URLParts(file.url(of: file.name))
    try check(beside?.origin == parts.origin, "\(file.url(of: file.name)) is at another server")
}
