package import LonghaulCore

/// What may be changed of an engine while it works.
package struct EngineTuning: Hashable, Sendable {
    package var limits = SchedulerLimits()
    package var rates = RatePlan()

    package init() {}
}
