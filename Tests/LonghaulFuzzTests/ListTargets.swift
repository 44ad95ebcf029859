@testable import Longhaul
@testable import LonghaulCore
@testable import LonghaulModel
@testable import LonghaulStore

let listTargets: [FuzzTarget] = [
    FuzzTarget("json-list", jsonList),
    FuzzTarget("aria-list", ariaList),
    FuzzTarget("json", json),
    FuzzTarget("glob", text: glob),
    FuzzTarget("stored", text: stored),
    FuzzTarget("push", push),
]

let fuzzContext = InputContext(
    now: fuzzNow, secondsFromUTC: { _ in 3600 }, directory: .success("/work"))
let fuzzTemplate = RequestTemplate(directory: "/work")

/// What a list asks for, and what the queue would take, is the same after the store.
private func checkRequest(_ request: TransferRequest) throws {
    guard RequestField.defect(of: request) == nil else { return }
    try checkRoundTrip(request.options, TransferOptions(stored: request.options.stored))
    guard let parts = try? URLParts(request.url) else { return }
    if case .directory(let directory, _) = request.destination {
        try check(directory.hasPrefix("/"), "'\(directory)' is relative")
        try checkName(FileNaming.name(from: parts))
    }
    if let windows = request.schedule.windows {
        try checkRoundTrip(windows, TimeWindows(stored: windows.stored))
    }
}

private func jsonList(_ bytes: [UInt8]) throws {
    try bytes.withUnsafeBufferPointer { line in
        let reader = JSONRequest(template: fuzzTemplate, context: fuzzContext)
        if let request = try? reader.request(line) { try checkRequest(request) }
        _ = try? TransferChange(json: line, fuzzContext, begin: nil)
        _ = try? JobInput(json: line, replacing: nil, fuzzContext, environment: [:])
    }
}

private func ariaList(_ bytes: [UInt8]) throws {
    let lines = bytes.split(separator: UInt8(ascii: "\n"))
    guard let first = lines.first,
        var entry = try? Array(first).withUnsafeBufferPointer({
            try ListedRequest($0, template: fuzzTemplate, context: fuzzContext)
        })
    else { return }
    for line in lines.dropFirst().prefix(64) {
        try? Array(line).withUnsafeBufferPointer { try entry.apply(option: $0) }
    }
    if let request = try? entry.finished() { try checkRequest(request) }
}

/// A text that is read is written so that it is read as the same; a skipped one is as valid as a
/// read one.
private func json(_ bytes: [UInt8]) throws {
    guard let text = String(validating: bytes, as: UTF8.self) else { return }
    let payload = try? JSONPayload(parsing: text)
    let compacted = try? JSONScanner.compacted(text)
    if let payload {
        try checkRoundTrip(payload, try? JSONPayload(parsing: payload.text))
        guard let compacted else { throw Broken(description: "it is not compacted") }
        let again = String(decoding: compacted, as: UTF8.self)
        try checkRoundTrip(payload, try? JSONPayload(parsing: again))
        // A key's control character can become an escape.
        try check(compacted.count <= bytes.count * 6, "the compacted text is much longer")
    }
    let shown = ShownOutput.text(text)
    try check(shown.utf8.count <= text.utf8.count * 12 + 4_096, "the shown text is much longer")
}

/// The first line is a pattern, the second a path.
private func glob(_ text: String) throws {
    let lines = text.byteLines.map(String.init)
    guard lines.count > 1, let set = try? GlobSet(include: [lines[0]], exclude: []),
        let other = try? GlobSet(include: [], exclude: [lines[0]])
    else { return }
    let path = String(lines[1].prefix(2_048))
    try check(set.selects(path) != other.selects(path), "'\(path)' is neither in nor out")
}

/// What is read from a column is written so that it is read as the same.
private func stored(_ text: String) throws {
    func check<Value: Codable & Equatable>(_ type: Value.Type) throws {
        guard let value = StoredJSON.decode(type, text) else { return }
        try checkRoundTrip(value, StoredJSON.decode(type, StoredJSON.encode(value)))
    }
    if let options = TransferOptions(stored: text) {
        try checkRoundTrip(options, TransferOptions(stored: options.stored))
    }
    try check(UploadState.self)
    try check(Validator.self)
    try check(TransferResponse.self)
    try check(LonghaulError.self)
    try check(JobSettings.self)
    try check(PublishedLimits.self)
    try check(BundleSource.self)
    try check(WaitReason.self)
}

/// A stream has the same events however its bytes are cut, and each makes a wake-up.
private func push(_ bytes: [UInt8]) throws {
    func checkAll(_ whole: [PushEvent], _ pieces: [PushEvent]) throws {
        try checkRoundTrip(whole, pieces)
        for event in whole {
            let defect = TaskRequest(identifier: event.identifier).defect
            try check(defect == nil, "'\(event.identifier)' is no identifier")
            try check(
                event.text.map { $0.utf8.count <= Limits.taskPayloadBytes } ?? true,
                "a payload is too long")
        }
    }
    var (events, pieces) = (EventStreamParser(), EventStreamParser())
    try checkAll(events.receive(bytes), bytes.flatMap { pieces.receive([$0]) })
    try check(events.lastID == pieces.lastID, "the place depends on the pieces")
    var (topics, parts) = (TopicParser(), TopicParser())
    try checkAll(topics.receive(bytes), bytes.flatMap { parts.receive([$0]) })
}
