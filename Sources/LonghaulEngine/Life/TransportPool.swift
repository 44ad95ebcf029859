internal import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulTransport

/// ``WirePort`` on libcurl, from the first request on: an engine that only waits for its moment has
/// neither libcurl in memory nor a thread for it. Used by the engine's thread alone.
///
/// Each file system that is written to has a transport of its own, up to a few: on its thread
/// bodies are written, and one that hangs in that (a network's, a frozen one) holds up its own
/// only.
final class TransportPool: WirePort, @unchecked Sendable {
    private struct Line {
        /// The number of the file system's device.
        var device: UInt64
        var transport: Transport
    }

    private var configuration: TransportConfiguration
    private let report: @Sendable ([WireFact]) -> Void
    private var loading: CurlLoading?
    private var lines: [Line] = []
    private var totalRate: Int64?

    init(
        configuration: TransportConfiguration, report: @escaping @Sendable ([WireFact]) -> Void
    ) {
        self.configuration = configuration
        self.report = report
    }

    func expectRequests() {
        if loading == nil, lines.isEmpty { loading = CurlLoading() }
    }

    func start(_ requests: [SegmentRequest]) {
        var rest = requests[...]
        while let device = rest.first?.target.device {
            let some = rest.prefix { $0.target.device == device }
            rest = rest[some.endIndex...]
            start(Array(some), writingTo: device)
        }
    }

    private func start(_ requests: [SegmentRequest], writingTo device: UInt64) {
        do throws(LonghaulError) {
            try line(to: device).start(requests)
        } catch {
            // As if libcurl itself had said so for each: tried again, as it may come to be
            // installed.
            let failure = WireFailure.curl(
                code: TransportPool.failedInit, text: error.message, osError: 0)
            report(
                requests.map {
                    let end = SegmentEnd(
                        failure: failure, writtenThrough: $0.offset, bytesReceived: 0)
                    return .ended($0.key, end)
                })
        }
    }

    // MARK: - What is said of a request, to whichever has it: the others do not know its key

    func proceed(_ key: SegmentKey, _ plan: BodyPlan) { each { $0.proceed(key, plan) } }
    func shrink(_ key: SegmentKey, end: Int64) { each { $0.shrink(key, end: end) } }
    func setRate(_ key: SegmentKey, _ rate: Int64?) { each { $0.setRate(key, rate) } }
    func stop(_ keys: [SegmentKey]) { each { $0.stop(keys) } }
    func withdraw(_ keys: [SegmentKey]) { each { $0.withdraw(keys) } }

    // MARK: - What is said of all

    func leaveConnections(suspecting keys: [SegmentKey]) {
        each { $0.leaveConnections(suspecting: keys) }
    }

    /// Of all requests together, in bytes per second; `nil` = no limit. While there is one, no line
    /// is added: those that are there have equal parts of it.
    func setTotalRate(_ rate: Int64?) {
        totalRate = rate
        let part = rate.map { max(1, $0 / Int64(max(1, lines.count))) }
        each { $0.setTotalRate(part) }
    }

    func setLimitsPerOrigin(_ limits: SchedulerLimits) {
        configuration.setLimitsPerOrigin(limits)
        each { $0.setLimitsPerOrigin(limits) }
    }

    func shutdown() {
        loading?.wait()
        loading = nil
        each { $0.shutdown() }
    }

    private func each(_ body: (Transport) -> Void) {
        for line in lines { body(line.transport) }
    }

    // MARK: - Lines

    private func line(to device: UInt64) throws(LonghaulError) -> Transport {
        if let line = lines.first(where: { $0.device == device }) { return line.transport }
        if lines.isEmpty { return try add(device) }
        if lines.count < TransportPool.linesMax, totalRate == nil, let added = try? add(device) {
            return added
        }
        return lines[Int(device % UInt64(lines.count))].transport
    }

    private func add(_ device: UInt64) throws(LonghaulError) -> Transport {
        loading?.wait()
        loading = nil
        let made = try Transport(configuration: configuration, facts: report)
        // The TLS library has just registered how it takes its tables down: that comes after us.
        if lines.isEmpty { ExitWork.goFirst() }
        if let totalRate { made.setTotalRate(totalRate) }
        lines.append(Line(device: device, transport: made))
        return made
    }

    /// File systems that do not wait for each other; further ones share their lines.
    private static let linesMax = 4
    /// CURLE_FAILED_INIT
    private static let failedInit: Int32 = 2
}

/// For an engine that starts nothing.
struct NoWire: WirePort {
    func expectRequests() {}
    func start(_ requests: [SegmentRequest]) {
        precondition(requests.isEmpty, "housekeeping starts nothing")
    }
    func proceed(_ key: SegmentKey, _ plan: BodyPlan) {}
    func shrink(_ key: SegmentKey, end: Int64) {}
    func setRate(_ key: SegmentKey, _ rate: Int64?) {}
    func stop(_ keys: [SegmentKey]) {}
    func withdraw(_ keys: [SegmentKey]) {}
    func leaveConnections(suspecting keys: [SegmentKey]) {}
}
