internal import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulTransport

/// Transports, one for each file system, so that a slow disk holds up its own files only;
/// further file systems share them.
private let transports = 4

/// Threads that the ranges of one file over TLS are spread over, at most: from about four on the
/// network and the disk are slower than the decryption.
private let threadsOfOneFile = 4

/// ``WirePort`` on libcurl, created with the first request: an engine that only waits for its
/// moment has neither libcurl in memory nor a thread for it. Used by the engine's thread alone.
///
/// Each target file system has its own transport, up to `transports`: bodies are written
/// on the transport's thread, and a file system that hangs (a network's, a frozen one) delays its
/// own downloads only. Discretionary requests have separate transports, whose threads have a low
/// priority. Parallel ranges of one file over TLS are spread over several transports, because the
/// thread of one decrypts with one processor. All share one budget of connections and rate.
final class TransportPool: WirePort, @unchecked Sendable {
    private struct Purpose: Equatable {
        /// The number of the file system's device.
        var device: UInt64
        var isBackground: Bool
        /// The number among the threads that the ranges of one file are spread over; else 0.
        var thread = 0
    }

    private struct Line {
        var purpose: Purpose
        var transport: Transport
    }

    private var configuration: TransportConfiguration
    private let report: @Sendable ([WireFact]) -> Void
    private var loading: CurlLoading?
    private let budget = TransportBudget()
    private var lines: [Line] = []
    private var totalRate: Int64?
    private let threads: Int64

    init(
        configuration: TransportConfiguration, report: @escaping @Sendable ([WireFact]) -> Void
    ) {
        self.configuration = configuration
        self.report = report
        threads = Int64(min(threadsOfOneFile, OwnProcess.processors))
    }

    func expectRequests() {
        if loading == nil, lines.isEmpty { loading = CurlLoading() }
    }

    func start(_ requests: [SegmentRequest]) {
        var rest = requests[...]
        while let purpose = rest.first.map(purpose) {
            let some = rest.prefix { self.purpose($0) == purpose }
            rest = rest[some.endIndex...]
            start(Array(some), for: purpose)
        }
    }

    private func purpose(_ request: SegmentRequest) -> Purpose {
        Purpose(
            device: request.target.device, isBackground: request.isBackground,
            thread: isSpread(request) ? Int(request.key.serial % threads) : 0)
    }

    /// Decrypting is most of the work for a range over TLS. A download has its own connection only
    /// beside others of the same file. A request that yields is steered with all others that do,
    /// by one thread.
    private func isSpread(_ request: SegmentRequest) -> Bool {
        request.connection.ownConnection && request.upload == nil && !request.isBackground
            && !request.yields && request.url.beginsIgnoringCase(with: "https:")
    }

    private func start(_ requests: [SegmentRequest], for purpose: Purpose) {
        do throws(LonghaulError) {
            try line(for: purpose).start(requests)
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

    /// The rate of all requests together, in bytes per second; `nil` = no limit.
    func setTotalRate(_ rate: Int64?) {
        totalRate = rate
        each { $0.setTotalRate(rate) }
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

    private func line(for purpose: Purpose) throws(LonghaulError) -> Transport {
        if let line = lines.first(where: { $0.purpose == purpose }) { return line.transport }
        if lines.isEmpty { return try add(purpose) }
        let alike = lines.filter {
            $0.purpose.isBackground == purpose.isBackground && $0.purpose.thread == purpose.thread
        }
        if alike.count < transports, let added = try? add(purpose) { return added }
        let some = alike.isEmpty ? lines : alike
        return some[Int(purpose.device % UInt64(some.count))].transport
    }

    private func add(_ purpose: Purpose) throws(LonghaulError) -> Transport {
        loading?.wait()
        loading = nil
        var configuration = configuration
        configuration.isBackground = purpose.isBackground
        let made = try Transport(configuration: configuration, budget: budget, facts: report)
        // The TLS library has just registered its exit handler: ours has to run before it.
        if lines.isEmpty { ExitWork.goFirst() }
        if let totalRate { made.setTotalRate(totalRate) }
        lines.append(Line(purpose: purpose, transport: made))
        return made
    }

    /// CURLE_FAILED_INIT
    private static let failedInit: Int32 = 2
}

/// Wire of an engine that starts nothing.
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
