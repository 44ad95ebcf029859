internal import Longhaul
internal import LonghaulPlatform
internal import NIOHTTP1
internal import Synchronization

/// Bytes of a payload; a store and a process have to take each.
private let servedPayloadBytes = 4 << 10
/// Bytes of a whole wake-up, with the blanks of its payload.
private let servedWakeUpBytes = 16 << 10

extension ServedRequest {
    /// The host of a request for a wake-up; `nil` = it is another request.
    var wokenHost: String? {
        guard method == .POST, path.count == 4, path[0] == "v1", path[1] == "hosts",
            path[3] == "wake"
        else { return nil }
        return path[2]
    }
}

extension Router {
    /// Who may ask for it is decided before, by the token of the host.
    static let wakeUps = [
        Route(
            method: .POST, pattern: "/v1/hosts/{name}/wake",
            summary: "wake a host; its own token is enough (`longhaul host token`)",
            body: .json("NewWakeUp"), status: .accepted, answer: .json("WakeUp"), perform: wake)
    ]

    @Sendable
    private static func wake(_ call: RouteCall) throws -> ServedAnswer {
        try call.queue.checkWritable()
        let host = call.name()
        if let seconds = call.queue.wakeUps.count(host, at: SystemClock.now().monotonic) {
            var answer = ServedAnswer(
                LonghaulError(
                    .conflict,
                    "a host is woken \(WakeUpCounter.most) times a minute at most; try again in"
                        + " \(seconds) s"), .tooManyRequests)
            answer.headers = [("Retry-After", "\(seconds)")]
            return answer
        }
        guard call.request.body.count <= servedWakeUpBytes else { return tooLarge }
        let wakeUp = try read(call)
        if wakeUp.payload.map({ $0.utf8.count > servedPayloadBytes }) ?? false { return tooLarge }
        try call.queue.queue.tasks.wake(host: host, wakeUp)
        var json = JSONText()
        json.object {
            $0.field("host", host)
            $0.field("identifier", wakeUp.identifier)
            $0.field("urgent", wakeUp.isUrgent)
            $0.field("expiresAt", wakeUp.expiresAt)
        }
        return ServedAnswer(.accepted, json: json)
    }

    private static var tooLarge: ServedAnswer {
        ServedAnswer(
            LonghaulError(.tooLarge, "a payload has \(servedPayloadBytes) bytes at most"),
            .payloadTooLarge)
    }

    private static func read(_ call: RouteCall) throws -> WakeUp {
        var wakeUp = WakeUp()
        let now = call.queue.context().now
        if call.request.body.isEmpty { return wakeUp }
        try call.readBody { key, scanner in
            switch key {
            case "identifier": wakeUp.identifier = scanner.null() ? nil : try scanner.string()
            case "payload":
                wakeUp.payload = scanner.null() ? nil : try scanner.raw()
            case "urgent": wakeUp.isUrgent = try scanner.bool()
            case "expires":
                if scanner.null() { break }
                let text =
                    scanner.isNumber() ? "\(try scanner.integer())s" : try scanner.string()
                wakeUp.expiresAt = now + (try OptionText.duration(text, "expires"))
            default:
                throw LonghaulError.usage("there are identifier, payload, urgent and expires")
            }
        }
        return wakeUp
    }
}

/// Counts the wake-ups of each host in a minute. Only hosts that exist are counted, and those of
/// the last minute.
final class WakeUpCounter: Sendable {
    static let most = 60
    private static let seconds = 60.0
    private let moments = Mutex<[String: [Instant]]>([:])

    /// Counts a wake-up. Otherwise the seconds until one is taken again; `nil` = it is taken.
    func count(_ host: String, at now: Instant) -> Int? {
        moments.withLock { moments in
            moments = moments.filter { $0.value.last.map { now - $0 < Self.seconds } ?? false }
            var recent = (moments[host] ?? []).filter { now - $0 < Self.seconds }
            defer { moments[host] = recent }
            if let first = recent.first, recent.count >= Self.most {
                return max(1, Int((Self.seconds - (now - first)).rounded(.up)))
            }
            recent.append(now)
            return nil
        }
    }
}
