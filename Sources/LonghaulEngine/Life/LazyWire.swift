internal import LonghaulCore
internal import LonghaulSystem
internal import LonghaulTransport

/// ``WirePort`` on libcurl, from the first request on: an engine that only waits for its moment has
/// neither libcurl in memory nor a thread for it. Used by the engine's thread alone.
final class LazyWire: WirePort, @unchecked Sendable {
    private var configuration: TransportConfiguration
    private let report: @Sendable ([WireFact]) -> Void
    private var loading: CurlLoading?
    private var transport: Transport?
    private var totalRate: Int64?

    init(
        configuration: TransportConfiguration, report: @escaping @Sendable ([WireFact]) -> Void
    ) {
        self.configuration = configuration
        self.report = report
    }

    func expectRequests() {
        if loading == nil, transport == nil { loading = CurlLoading() }
    }

    func start(_ requests: [SegmentRequest]) {
        do throws(LonghaulError) {
            try opened().start(requests)
        } catch {
            // As if libcurl itself had said so for each: tried again, as it may come to be
            // installed.
            let failure = WireFailure.curl(
                code: LazyWire.failedInit, text: error.message, osError: 0)
            report(
                requests.map {
                    let end = SegmentEnd(
                        failure: failure, writtenThrough: $0.offset, bytesReceived: 0)
                    return .ended($0.key, end)
                })
        }
    }

    func proceed(_ key: SegmentKey, _ plan: BodyPlan) { transport?.proceed(key, plan) }
    func shrink(_ key: SegmentKey, end: Int64) { transport?.shrink(key, end: end) }
    func setRate(_ key: SegmentKey, _ rate: Int64?) { transport?.setRate(key, rate) }
    func stop(_ keys: [SegmentKey]) { transport?.stop(keys) }
    func withdraw(_ keys: [SegmentKey]) { transport?.withdraw(keys) }
    func leaveConnections() { transport?.leaveConnections() }

    /// Of all requests together, in bytes per second; `nil` = no limit.
    func setTotalRate(_ rate: Int64?) {
        totalRate = rate
        transport?.setTotalRate(rate)
    }

    func setConnectionsPerOrigin(_ count: Int) {
        configuration.maxConnectionsPerHost = count
        transport?.setConnectionsPerOrigin(count)
    }

    func shutdown() {
        loading?.wait()
        loading = nil
        transport?.shutdown()
    }

    private func opened() throws(LonghaulError) -> Transport {
        if let transport { return transport }
        loading?.wait()
        loading = nil
        let made = try Transport(configuration: configuration, facts: report)
        // The TLS library has just registered how it takes its tables down: that comes after us.
        ExitWork.goFirst()
        if let totalRate { made.setTotalRate(totalRate) }
        transport = made
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
    func leaveConnections() {}
}
