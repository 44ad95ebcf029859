package import LonghaulCore

/// The network, as the engine sees it: commands in, facts out (as ``EngineInput``). It decides
/// nothing.
package protocol WirePort: Sendable {
    /// Part files are being opened: get ready.
    func expectRequests()
    func start(_ requests: [SegmentRequest])
    func proceed(_ key: SegmentKey, _ plan: BodyPlan)
    func shrink(_ key: SegmentKey, end: Int64)
    /// Bytes per second; `nil` = no limit. Ignored if it has ended.
    func setRate(_ key: SegmentKey, _ rate: Int64?)
    func stop(_ keys: [SegmentKey])
    /// Those of them that have not gone out end as `withdrawn`.
    func withdraw(_ keys: [SegmentKey])
    /// The network has changed: no connection that is there is used for another request, and those
    /// of these requests are given up when nothing has come on them for some seconds.
    func leaveConnections(suspecting keys: [SegmentKey])
}
