import LonghaulCore
import Testing

/// When a host is started, as tables.
@Suite struct LaunchPolicyTests {
    private let now = Timestamp(milliseconds: 1_767_225_600_000)

    private func host(
        _ edit: (inout HostFacts) -> Void = { _ in }, session: (inout WaitingSession) -> Void
    ) -> HostFacts {
        var facts = HostFacts(name: "h")
        var waiting = WaitingSession(name: "s", firstWaiting: now)
        session(&waiting)
        facts.sessions = [waiting]
        edit(&facts)
        return facts
    }

    private func state(
        _ edit: (inout HostFacts) -> Void = { _ in },
        session: (inout WaitingSession) -> Void = { _ in }
    ) -> HostState {
        LaunchPolicy.state(of: host(edit, session: session), now: now)
    }

    @Test func events() {
        // Once for a batch…
        #expect(state() == .due(now + 5))
        #expect(state { $0.launchDelay = 60 } == .due(now + 60))
        #expect(state { $0.firstWaiting = now + -3 } == .due(now + 2))
        #expect(state { $0.firstWaiting = now + -30 } == .due(now))
        // …or at once where nothing more will come, or a transfer waits for it.
        #expect(state { $0.isDrained = true } == .due(now))
        #expect(state { $0.needsInput = true } == .due(now))
        // A clock that was set back.
        #expect(state { $0.firstWaiting = now + 3600 } == .due(now))
        #expect(state { $0.launchEvents = false } == .idle)
        #expect(state({ $0.sessions = [] }, session: { _ in }) == .idle)
    }

    private func state(session: (inout WaitingSession) -> Void) -> HostState {
        state({ _ in }, session: session)
    }

    @Test func whatHoldsAHostBack() {
        #expect(state({ $0.isBusy = true }) == .running)
        #expect(state({ $0.isAttached = true }) == .attached)
        #expect(state({ $0.obstacle = .removed }) == .blocked(.removed))
        #expect(state({ $0.obstacle = .missing }) == .blocked(.missing))
        let failed: (inout HostFacts) -> Void = {
            $0.failures = 2
            $0.retryAt = now + 100
        }
        #expect(state(failed) == .delayed(now + 100))
        #expect(
            state({
                failed(&$0)
                $0.retryAt = now + -1
            }) == .due(now + 5))
        // Of a clock that was wrong: two failures delay a launch by 120 s.
        for seconds in [121, 600, 9000.0] {
            #expect(
                state({
                    failed(&$0)
                    $0.retryAt = now + seconds
                }) == .due(now + 5))
        }
    }

    /// A host that gets its events itself is launched for its tasks; a process that takes what is
    /// handed over needs no program.
    @Test func hostsThatRun() {
        let task = DueTask(id: TaskID(rawValue: 1), kind: .refresh)
        func plan(_ edit: (inout HostFacts) -> Void) -> [LaunchPolicy.Due] {
            let facts = host {
                $0.tasks = [task]
                edit(&$0)
            } session: {
                $0.isDrained = true
            }
            return LaunchPolicy.plan([facts], now: now).due
        }
        let tasks = LaunchPolicy.Due(host: "h", session: nil, tasks: [task], reason: .task)
        let all = LaunchPolicy.Due(
            host: "h", session: "s", tasks: [task], reason: .sessionEvents)
        #expect(plan { $0.isAttached = true } == [tasks])
        #expect(plan { $0.hasResident = true } == [all])
        #expect(plan { $0.obstacle = .missing } == [])
        for obstacle in [LaunchObstacle.missing, .notExecutable] {
            let found = plan {
                $0.obstacle = obstacle
                $0.hasResident = true
            }
            #expect(found == [all])
        }
        let removed = plan {
            $0.obstacle = .removed
            $0.hasResident = true
        }
        #expect(removed == [])
        let busy = plan {
            $0.isBusy = true
            $0.hasResident = true
        }
        #expect(busy == [])
    }

    @Test func delays() {
        let delays = (0...8).map { LaunchPolicy.delay(afterFailures: $0) }
        #expect(delays == [0, 60, 120, 240, 480, 960, 1920, 3600, 3600])
        #expect(LaunchPolicy.delay(afterFailures: .max) == 3600)
    }

    @Test func plans() {
        var hosts = ["a", "b", "c", "d"].map { name -> HostFacts in
            var facts = host { _ in }
            facts.name = name
            return facts
        }
        hosts[0].sessions[0].isDrained = true
        hosts[1].sessions[0].firstWaiting = now + -2
        hosts[2].isBusy = true
        hosts[3].failures = 1
        hosts[3].retryAt = now + 50
        let plan = LaunchPolicy.plan(hosts, now: now)
        #expect(
            plan.due == [LaunchPolicy.Due(host: "a", session: "s", reason: .sessionEvents)])
        #expect(plan.next == now + 3)
        #expect(
            plan.states == [
                "a": .due(now), "b": .due(now + 3), "c": .running, "d": .delayed(now + 50),
            ])
    }

    @Test func oneLaunchAtATimeTheNeedyFirst() {
        var facts = host { $0.isDrained = true }
        var other = WaitingSession(name: "r", firstWaiting: now)
        other.needsInput = true
        facts.sessions.append(other)
        let plan = LaunchPolicy.plan([facts], now: now)
        #expect(plan.due == [LaunchPolicy.Due(host: "h", session: "r", reason: .inputNeeded)])
    }

    /// Among those that are due, and after a failure whoever it was for.
    @Test func sessionsTakeTurns() {
        func session(_ name: String, _ lastLaunch: Int64, needsInput: Bool = false)
            -> WaitingSession
        {
            var session = WaitingSession(name: name, firstWaiting: now + -60)
            session.lastLaunch = lastLaunch
            session.needsInput = needsInput
            return session
        }
        func first(_ failures: Int, _ sessions: WaitingSession...) -> String? {
            let facts = host {
                $0.sessions = sessions
                $0.failures = failures
            } session: { _ in
            }
            return LaunchPolicy.plan([facts], now: now).due.first?.session
        }
        #expect(first(0, session("a", 7), session("b", 3), session("c", 5)) == "b")
        #expect(first(0, session("a", 7), session("b", 3), session("new", 0)) == "new")
        #expect(first(0, session("a", 7, needsInput: true), session("b", 3)) == "a")
        #expect(first(1, session("a", 7, needsInput: true), session("b", 3)) == "b")
        // The older event, and then the name.
        var late = session("a", 0)
        late.firstWaiting = now + -50
        #expect(first(0, late, session("b", 0)) == "b")
        #expect(first(0, session("b", 0), session("a", 0)) == "a")
        // Not before it is due.
        var drained = session("z", 9)
        drained.isDrained = true
        late.firstWaiting = now
        #expect(first(0, late, drained) == "z")
    }
}
