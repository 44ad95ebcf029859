internal import LonghaulCore
internal import LonghaulTransport

/// ``WirePort`` on libcurl.
struct WireAdapter: WirePort {
    let transport: Transport

    func start(_ requests: [SegmentRequest]) { transport.start(requests) }
    func proceed(_ key: SegmentKey, _ plan: BodyPlan) { transport.proceed(key, plan) }
    func shrink(_ key: SegmentKey, end: Int64) { transport.shrink(key, end: end) }
    func stop(_ keys: [SegmentKey]) { transport.stop(keys) }
}

/// For an engine that starts nothing.
struct NoWire: WirePort {
    func start(_ requests: [SegmentRequest]) {
        precondition(requests.isEmpty, "housekeeping starts nothing")
    }
    func proceed(_ key: SegmentKey, _ plan: BodyPlan) {}
    func shrink(_ key: SegmentKey, end: Int64) {}
    func stop(_ keys: [SegmentKey]) {}
}
