internal import LonghaulCore

/// The callers' commands to the loop, in order.
enum TransportCommand: Sendable {
    case start([SegmentRequest])
    case proceed(SegmentKey, BodyPlan)
    case shrink(SegmentKey, end: Int64)
    case stop([SegmentKey])
    case withdraw([SegmentKey])
    case leaveConnections(suspecting: [SegmentKey])
    case totalRate(Int64?)
    case rate(SegmentKey, Int64?)
    case limitsPerOrigin(SchedulerLimits)
    case shutdown
}
