import LonghaulCore
import LonghaulEngine
import LonghaulSimulatedWire

/// The network and its servers. Each request is answered by what its URL holds when the answer
/// begins.
final class SimWire: SimulatedWire, @unchecked Sendable {
    let disk: SimDisk
    var contents: [String: SimContent] = [:]
    /// Those that take uploads.
    let servers = SimUploadServer()
    var requests: [SegmentKey: SimulatedRequest] = [:]
    /// The file that each answer is of, and the bodies of uploads.
    var versions: [SegmentKey: SimBytes] = [:]
    var sendings: [SegmentKey: SimSending] = [:]
    var order: [SegmentKey] = []
    var facts: [WireFact] = []
    var trouble = SimTrouble.none
    var random = SeededGenerator(seed: 1)
    var now = Moment(wall: Timestamp(milliseconds: 0), monotonic: Instant(nanoseconds: 0))
    var isDown = false
    /// The transport lets no more than these onto the wire.
    var connectionsPerOrigin = Limits.connectionsPerOrigin
    /// Requests that were answered: work without progress shows here.
    var answered = 0
    var stalls = 0
    var redirects = 0
    /// Answers to one request more than the server takes at a time.
    var forbidden = 0
    /// What the checkers want to see: each request as it is handed over and as it goes out, each
    /// body byte as it arrives.
    var onQueue: (SegmentRequest) -> Void = { _ in }
    var onStart: (SegmentRequest) -> Void = { _ in }
    var onReceive: (SegmentKey, Range<Int64>, SimContent, BodyPlan) -> Void = { _, _, _, _ in }
    /// Bytes beyond the new end of a shortened request, which had come before: another request
    /// brings them again.
    var onOverrun: (SegmentKey, Range<Int64>) -> Void = { _, _ in }
    /// Bytes that came and could not be used.
    var onWaste: (SegmentKey, Int64) -> Void = { _, _ in }
    var trace: (@autoclosure () -> String) -> Void = { _ in }
    /// What servers asked for by Retry-After, by transfer's fetch.
    var didAskToWait: (SegmentKey, Double) -> Void = { _, _ in }

    init(disk: SimDisk) {
        self.disk = disk
    }

    static func origin(of url: String) -> String {
        let parts = url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        return "http://\(parts[2].split(separator: "/")[0]):80"
    }

    // MARK: - Commands

    func stop(_ keys: [SegmentKey]) {
        for key in keys where disk.mayAct() && requests[key] != nil {
            say("stop \(key)")
            if random.happens(0.7) {
                end(key, .stopped)
            } else {
                requests[key]?.isStopping = true
            }
        }
    }

    func leaveConnections(suspecting keys: [SegmentKey]) {
        for key in keys where disk.mayAct() { requests[key]?.isSuspect = true }
    }

    func forget() {
        for key in order {
            guard let request = requests[key], let sending = sendings[key] else { continue }
            deliverRest(of: sending, request.request)
        }
        reset()
        versions = [:]
        sendings = [:]
    }

    // MARK: - For the wire

    func mayAct() -> Bool { disk.mayAct() }

    func say(_ text: @autoclosure () -> String) { trace(text()) }

    func willQueue(_ request: SegmentRequest) {
        say(
            "ask \(request.key) \(request.upload?.method ?? "") \(request.url)"
                + " \(request.headers["Range"] ?? "whole")"
                + " \(request.headers["If-Range"] ?? request.headers["Upload-Offset"] ?? "")")
        onQueue(request)
        sendings[request.key] = request.upload.map { SimSending(request, $0) }
    }

    func willStart(_ request: SegmentRequest) { onStart(request) }

    func latency() -> Double { Double.random(in: 0...0.3, using: &random) }

    func endsNow(_ request: SimulatedRequest) -> Bool { request.isStopping && random.happens(0.6) }

    func isUnanswered(_ key: SegmentKey) -> Bool { sendings[key]?.isUnanswered == true }

    func willEnd(_ key: SegmentKey, _ request: SimulatedRequest, _ end: inout SegmentEnd) {
        versions[key] = nil
        let sending = sendings.removeValue(forKey: key)
        say(
            "ended \(key) \(end.failure.map { "\($0)" } ?? "well"), received \(request.received),"
                + " sent \(sending?.taken ?? 0)")
        if case .stalled? = end.failure { stalls += 1 }
        guard let sending else { return }
        end.bytesSent = sending.taken
        end.answer = sending.answer
        if end.failure != nil { deliverRest(of: sending, request.request) }
    }
}
