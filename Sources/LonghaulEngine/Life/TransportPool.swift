internal import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulTransport

/// ``WirePort`` on libcurl, from the first request on: an engine that only waits for its moment has
/// neither libcurl in memory nor a thread for it. Used by the engine's thread alone.
///
/// Each file system that is written to has a transport of its own, up to ``Limits/transports``:
/// bodies are written on the transport's thread, and a file system that hangs (a network's, a
/// frozen one) holds up its own downloads only.
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
            // Each request fails as if libcurl had said so. It is tried again: the library may be
            // installed meanwhile.
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

    // MARK: - Orders for a request: only the transport that has it knows its key

    func proceed(_ key: SegmentKey, _ plan: BodyPlan) { each { $0.proceed(key, plan) } }
    func shrink(_ key: SegmentKey, end: Int64) { each { $0.shrink(key, end: end) } }
    func setRate(_ key: SegmentKey, _ rate: Int64?) { each { $0.setRate(key, rate) } }
    func stop(_ keys: [SegmentKey]) { each { $0.stop(keys) } }
    func withdraw(_ keys: [SegmentKey]) { each { $0.withdraw(keys) } }

    // MARK: - Orders for all

    func leaveConnections(suspecting keys: [SegmentKey]) {
        each { $0.leaveConnections(suspecting: keys) }
    }

    /// The rate of all requests together, in bytes per second; `nil` = no limit. While there is a
    /// limit, no transport is added: those that exist have equal parts of it.
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
        if lines.count < Limits.transports, totalRate == nil, let added = try? add(device) {
            return added
        }
        return lines[Int(device % UInt64(lines.count))].transport
    }

    private func add(_ device: UInt64) throws(LonghaulError) -> Transport {
        loading?.wait()
        loading = nil
        let made = try Transport(configuration: configuration, facts: report)
        // The TLS library has just registered its exit handler: ours has to run before it.
        if lines.isEmpty { ExitWork.goFirst() }
        if let totalRate { made.setTotalRate(totalRate) }
        lines.append(Line(device: device, transport: made))
        return made
    }

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
