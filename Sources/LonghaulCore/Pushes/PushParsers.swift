internal import LonghaulModel

/// Bytes of a line, and of the data of an event. A push names what is new; the program fetches it.
private let pushLineBytes = 128 << 10
private let pushDataBytes = 64 << 10

/// Something that a stream has told.
package struct PushEvent: Hashable, Sendable {
    /// The kind of event, or the topic, as an identifier of a wake-up.
    package var identifier: String
    /// Its data; `nil` = none, or more than a wake-up carries.
    package var text: String?
    /// The place in the stream; `nil` = the event has none.
    package var id: String?

    package init(identifier: String, text: String?, id: String? = nil) {
        self.identifier = PushEvent.identifier(identifier)
        self.text = text.flatMap { $0.utf8.count > pushDataBytes ? nil : $0 }
        self.id = id
    }

    /// Without what an identifier must not have.
    private static func identifier(_ name: String) -> String {
        var text = ""
        for scalar in name.unicodeScalars {
            let isAllowed = scalar.value > 0x20 && scalar != ","
            text.unicodeScalars.append(isAllowed ? scalar : "_")
            if text.utf8.count > Limits.taskIdentifierBytes {
                text.unicodeScalars.removeLast()
                break
            }
        }
        return text
    }
}

/// Splits bytes that come in pieces into lines, which end with CR LF, LF or CR.
struct PushLines: Sendable {
    private var line: [UInt8] = []
    private var isTooLong = false
    private var skipsLineFeed = false

    /// Calls `take` for each whole line; `nil` = it was longer than the bound.
    mutating func receive(_ bytes: [UInt8], _ take: ([UInt8]?) -> Void) {
        for byte in bytes {
            let isSecondHalf = skipsLineFeed && byte == UInt8(ascii: "\n")
            skipsLineFeed = byte == UInt8(ascii: "\r")
            if isSecondHalf { continue }
            guard byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") else {
                if line.count < pushLineBytes { line.append(byte) } else { isTooLong = true }
                continue
            }
            take(isTooLong ? nil : line)
            line.removeAll(keepingCapacity: true)
            isTooLong = false
        }
    }
}

/// Server-Sent Events (HTML, "parsing an event stream"). The last event's data may be cut: only a
/// blank line ends an event.
package struct EventStreamParser: Sendable {
    private var lines = PushLines()
    private var isAtStart = true
    private var name = ""
    private var data: String?
    private var isTooLarge = false
    private var nextID: String?
    private var hasOwnID = false
    /// The place after the events so far; `nil` = the stream has told none.
    package private(set) var lastID: String?
    /// Seconds that the server asks to wait before the next connection.
    package private(set) var retrySeconds: Double?

    package init() {}

    package mutating func receive(_ bytes: [UInt8]) -> [PushEvent] {
        var events: [PushEvent] = []
        var lines = lines
        lines.receive(bytes) { line in
            if let event = read(line) { events.append(event) }
        }
        self.lines = lines
        return events
    }

    private mutating func read(_ line: [UInt8]?) -> PushEvent? {
        guard var line = line?[...] else {
            isAtStart = false
            isTooLarge = true
            return nil
        }
        if isAtStart, line.starts(with: [0xEF, 0xBB, 0xBF]) { line = line.dropFirst(3) }
        isAtStart = false
        if line.isEmpty { return end() }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[colon...].dropFirst()
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        set(String(decoding: line[..<colon], as: UTF8.self), String(decoding: value, as: UTF8.self))
        return nil
    }

    private mutating func set(_ field: String, _ value: String) {
        switch field {
        case "event": name = value
        case "data":
            if (data?.utf8.count ?? 0) + value.utf8.count >= pushDataBytes {
                isTooLarge = true
            } else {
                data = data.map { $0 + "\n" + value } ?? value
            }
        case "id":
            if value.utf8.contains(0) { return }
            (nextID, hasOwnID) = (value, true)
        case "retry":
            if !value.isEmpty, value.utf8.allSatisfy(\.isASCIIDigit),
                let number = value.decimalValue
            {
                retrySeconds = min(Double(number) / 1000, Limits.retryAfterMaximumSeconds)
            }
        // A comment, or a field of later days.
        default: break
        }
    }

    private mutating func end() -> PushEvent? {
        defer { (name, data, isTooLarge, hasOwnID) = ("", nil, false, false) }
        // An empty text takes the place away.
        if let nextID { lastID = nextID.isEmpty ? nil : nextID }
        guard data != nil || isTooLarge else { return nil }
        return PushEvent(
            identifier: name.isEmpty ? "message" : name, text: isTooLarge ? nil : data,
            id: hasOwnID ? lastID : nil)
    }
}

/// ntfy's lines (ntfy, "Subscribe as JSON stream"): an object each, of which messages count.
package struct TopicParser: Sendable {
    private var lines = PushLines()
    package private(set) var lastID: String?

    package init() {}

    package mutating func receive(_ bytes: [UInt8]) -> [PushEvent] {
        var events: [PushEvent] = []
        lines.receive(bytes) { line in
            if let event = line.flatMap(TopicParser.read) { events.append(event) }
        }
        if let id = events.last(where: { $0.id != nil })?.id { lastID = id }
        return events
    }

    /// `nil` = it is no message: the beginning, a sign of life, or no JSON.
    private static func read(_ line: [UInt8]) -> PushEvent? {
        var (kind, topic, text, id): (String?, String?, String?, String?)
        let isRead =
            line.withUnsafeBufferPointer { bytes in
                var scanner = JSONScanner(bytes)
                do {
                    try scanner.object { key, scanner in
                        guard scanner.isString() else { return try scanner.skip() }
                        switch key {
                        case "event": kind = try scanner.string()
                        case "topic": topic = try scanner.string()
                        case "message": text = try scanner.string()
                        case "id": id = try scanner.string()
                        default: try scanner.skip()
                        }
                    }
                    try scanner.end()
                    return true
                } catch {
                    return false
                }
            }
        guard isRead, kind == "message", let topic, !topic.isEmpty else { return nil }
        return PushEvent(identifier: topic, text: text, id: id.flatMap { $0.isEmpty ? nil : $0 })
    }
}
