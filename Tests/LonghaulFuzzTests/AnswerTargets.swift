@testable import LonghaulCore
@testable import LonghaulModel
import LonghaulStore

let answerTargets: [FuzzTarget] = [
    FuzzTarget("resume", resume),
    FuzzTarget("upload", upload),
    FuzzTarget("manifest", manifest),
    FuzzTarget("reply", text: reply),
]

// MARK: - Downloads

/// `PROOF POSITION OVERLAP END FLAGS PINNED-LENGTH PINNED-TAG`, and one answer. No answer makes the
/// download keep a byte that it does not have, or write where none was asked for.
private func resume(_ bytes: [UInt8]) throws {
    let (setup, answers) = FuzzAnswer.split(bytes)
    guard let answer = answers.first else { return }
    func number(_ place: Int) -> Int64? {
        setup.dropFirst(place).first?.decimalValue.map { min($0, 1 << 60) }
    }
    let flags = setup.dropFirst(4).first ?? ""
    let position = number(1) ?? 0
    // No version is shorter than the bytes that are held of it.
    let length = number(5).map { max($0, position) }
    var pinned = Validator(etag: setup.dropFirst(6).first.map(String.init), length: length)
    if flags.contains("o") { pinned.origin = "https://other:443" }
    guard let proof = proof(setup.first ?? "", pinned) else { return }
    if proof == .nothingHeld, position > 0 { return }
    let end = number(3).flatMap { $0 > position ? $0 : nil }
    var ask = RangeRequest(
        proof: proof, position: position, end: end, overlap: min(number(2) ?? 0, position),
        isExtra: flags.contains("x"))
    ask.isForMirror = flags.contains("m")
    ask.isAdopting = flags.contains("a")
    ask.held = position
    if flags.contains("c") { ask.names = .compare }
    let head = answer.head(at: "https://h/f")
    let maximum = flags.contains("s") ? Int64(1 << 20) : nil
    let judgement = judge(ask, head, pinned: pinned, maxSize: maximum)
    switch judgement.decision {
    case .append(let plan), .skip(let plan):
        try check((200..<300).contains(head.status), "bytes of an error are kept")
        try check(plan.skip >= 0 && plan.compare >= 0, "bytes are counted backwards")
        try check(plan.position + plan.compare >= 0, "the place is before the file")
        try check(plan.position + plan.compare <= ask.position, "a gap is left")
        if let bound = plan.end {
            try check(bound >= plan.position, "the body ends before it begins")
            if let maximum { try check(bound <= maximum, "more than --max-size") }
        }
    case .fresh(_, let length): try checkLength(length, maximum)
    case .restart(_, let version): try checkLength(version.length, maximum)
    case .alreadyComplete(let length): try check(length == ask.position, "it is not complete")
    case .restartFromZero, .dropSegment, .redirect, .empty, .fail: break
    }
    // What is stored of the version is read again.
    let validator = Validator(head)
    try checkRoundTrip(
        validator, StoredJSON.decode(Validator.self, StoredJSON.encode(validator)))
}

private func checkLength(_ length: Int64?, _ maximum: Int64?) throws {
    try check(length ?? 0 >= 0, "a negative length")
    if let maximum { try check(length ?? 0 <= maximum, "more than --max-size") }
}

private func proof(_ name: Substring, _ pinned: Validator) -> RangeRequest.Proof? {
    switch name {
    case "none": .nothingHeld
    case "tag": .entityTag(pinned.etag ?? "\"a\"")
    case "date": .date("Sun, 29 Nov 2026 08:00:00 GMT")
    case "overlap": .overlap
    case "digest": .digest
    case "time": .sizeAndTime
    case "skip": .skipping
    default: nil
    }
}

// MARK: - Uploads

/// `PROTOCOL SIZE SENT`, and the answers in order. The server is believed no more bytes than the
/// file has, nothing is sent elsewhere than by HTTPS, and the state survives its stored form.
private func upload(_ bytes: [UInt8]) throws {
    let (setup, answers) = FuzzAnswer.split(bytes)
    guard let name = setup.first, let spoken = UploadProtocol(rawValue: String(name)) else {
        return
    }
    let size = min(setup.dropFirst().first?.decimalValue ?? 0, 1 << 42)
    let sent = setup.dropFirst(2).first?.decimalValue ?? .max
    var request = TransferRequest(url: "https://h/d/f", destination: .file("/work/f"))
    request.options.upload = UploadOptions()
    request.options.upload?.uploadProtocol = spoken
    var state = UploadState()
    state.source = SourceVersion(device: 1, inode: 2, size: size, modified: 3, changed: 4)
    guard let job = UploadJob(request, state, TransferID(rawValue: 7)) else { return }
    state.start(job, known: nil)
    var offset: Int64 = 0
    for answer in answers.prefix(32) {
        var talk = state.conversation(job, offset: offset)
        guard let exchange = talk.next() else { return }
        try check(
            exchange.url.beginsIgnoringCase(with: "https:"), "\(exchange.url) is not by HTTPS")
        try check(
            exchange.range.lowerBound >= 0 && exchange.range.upperBound <= size,
            "\(exchange.range) of \(size) bytes")
        for field in exchange.headers.fields {
            try check(field.problem != .badValue && field.problem != .badName, "a forged field")
        }
        talk.begins(exchange)
        state.adopt(talk)
        talk = state.conversation(job, offset: offset)
        let head = answer.head(at: exchange.url)
        if head.status < 200 {
            talk.interim(head)
        } else {
            var end = SegmentEnd(
                failure: nil, writtenThrough: 0, bytesReceived: Int64(answer.body.count))
            end.answer = answer.body
            end.bytesSent = min(exchange.body.content?.length ?? 0, sent)
            let verdict = talk.verdict(on: EndedExchange(exchange, end, head), expecting: nil)
            if verdict == .done { return }
        }
        state.adopt(talk)
        let acknowledged = talk.acknowledged
        try check((acknowledged.ranges.last?.upperBound ?? 0) <= size, "more bytes than there are")
        offset = acknowledged.prefix
        try checkRoundTrip(state, StoredJSON.decode(UploadState.self, StoredJSON.encode(state)))
    }
}

// MARK: - Manifests

/// `SOURCE`, and the answers in order: a conversation refuses them, or has a manifest whose files
/// stay in the bundle and whose secrets stay with the source.
private func manifest(_ bytes: [UInt8]) throws {
    let (setup, answers) = FuzzAnswer.split(bytes)
    guard let text = setup.first, text.utf8.count < 200,
        var source = try? BundleSource(
            parsing: String(text), environment: [:], platform: nil, directory: "/home/u")
    else { return }
    if source.endpoint == nil, source.kind == .s3 { source.endpoint = "https://s3.example/b" }
    var talk = ManifestSources.conversation(for: source)
    for answer in answers.prefix(32) {
        guard let request = talk.next() else { break }
        switch request.credential {
        case .source, .bearer:
            let isServer = (try? URLParts(request.url)) != nil
            try check(!isServer || source.owns(request.url), "\(request.url) is given a secret")
        case .registryLogin, .none: break
        }
        let answer = ManifestAnswer(
            status: answer.status, headers: answer.headers, url: request.url, body: answer.body,
            sha256: String(repeating: "ab", count: 32))
        guard (try? talk.judge(answer)) != nil else { return }
    }
    guard let manifest = talk.manifest else { return }
    try check(
        !manifest.version.isEmpty && !manifest.version.contains("/"), "'\(manifest.version)'")
    for file in manifest.files {
        try check(file.size ?? 0 >= 0, "a negative size")
        try check((try? URLParts(file.url)) != nil, "\(file.url) is no URL")
        if (try? ManifestNames.check([file], foldsCase: false)) != nil {
            let parts = file.path.split(separator: "/", omittingEmptySubsequences: false)
            try check(
                !parts.contains { ["", ".", ".."].contains($0) }, "\(file.path) leaves the bundle")
        }
    }
}

// MARK: - Words of libcurl and of FTP servers

/// `CODE` and the text: a message shows no more than a few lines, and no secret of a URL.
private func reply(_ text: String) throws {
    let lines = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
    let code = Int32(lines[0].decimalValue.map { min($0, 200) } ?? 0)
    let words = String(lines.dropFirst().first ?? "")
    let failure = FailureTable.classify(curl: code, text: words)
    let message = failure.error.message
    try check(message.utf8.count <= words.utf8.count * 8 + 2_000, "a long message")
    try check(TerminalText.shown(message) == message, "'\(message)' changes a terminal")
}
