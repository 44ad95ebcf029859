internal import Glibc
internal import LonghaulCore

/// Whether the machine is in use, from its load and from who types at its terminals: for machines
/// where logind does not keep track. Nothing tells of it, so it is looked at now and then.
struct IdleSampler {
    static let source = "proc"

    private(set) var isIdle: Bool?
    /// When to look again.
    private(set) var due: Instant?

    private let surroundings: ConditionSurroundings

    init(_ surroundings: ConditionSurroundings) {
        self.surroundings = surroundings
    }

    /// Looks if it is time to.
    mutating func sample(_ now: Moment) {
        if let due, now.monotonic < due { return }
        isIdle = facts(now.wall).isIdle(wasIdle: isIdle ?? false)
        let seconds = surroundings.idleSampleSeconds
        due = now.monotonic + (isIdle == true ? seconds.idle : seconds.waiting)
    }

    /// Nobody waits for it any more.
    mutating func forget() {
        isIdle = nil
        due = nil
    }

    private func facts(_ now: Timestamp) -> IdleFacts {
        var facts = IdleFacts()
        facts.load = (try? smallFile("\(surroundings.proc)/loadavg")).flatMap {
            IdleFacts.load($0, processors: max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))))
        }
        facts.pressure = (try? smallFile("\(surroundings.proc)/pressure/cpu")).flatMap {
            IdleFacts.pressure($0)
        }
        let last = Terminals(dev: surroundings.dev, logins: surroundings.logins).lastInput()
        // A clock that was set back makes it seem to be in the future: then it is now.
        facts.secondsSinceInput = last.map { max(0, now - $0) }
        return facts
    }
}
