/// Whether a launch uses too much of a processor: more than ``Limits/processorShare`` of one over
/// ``Limits/processorSeconds``. The counterpart of the limit for background time on Apple's systems.
package struct ProcessorMonitor: Hashable, Sendable {
    private struct Sample: Hashable {
        var at: Double
        var used: Double
    }

    private var samples: [Sample] = []
    /// Seconds of processor time that the launch has used so far.
    package private(set) var used: Double = 0

    package init() {}

    /// - Parameters:
    ///   - used: Seconds of processor time, of the whole process group.
    ///   - at: Seconds of a clock that is not set.
    /// - Returns: Whether it is too much.
    package mutating func add(_ used: Double, at: Double) -> Bool {
        // What a process used that has ended and was not awaited is not counted any more.
        self.used = max(self.used, used)
        samples.append(Sample(at: at, used: self.used))
        // The last sample that is old enough is the one to compare with.
        while samples.count > 1, at - samples[1].at >= Limits.processorSeconds {
            samples.removeFirst()
        }
        guard let first = samples.first, at - first.at >= Limits.processorSeconds else {
            return false
        }
        return (self.used - first.used) > Limits.processorShare * (at - first.at)
    }
}
