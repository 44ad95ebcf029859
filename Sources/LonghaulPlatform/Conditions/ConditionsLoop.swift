internal import CLonghaul
internal import Glibc
internal import LonghaulModel

/// The thread of a ``ConditionsWatch``. It owns the bus connection and the kernel's sockets, sleeps
/// until one of them is readable, and publishes the conditions.
final class ConditionsLoop {
    private let commands: ConditionCommands
    private let snapshot: ConditionContext
    private var wants: ConditionCommands.Wants

    // The services hold unowned references to the bus, so the bus is released first.
    private let (upower, profiles) = (UPower(), PowerProfiles())
    private let manager = NetworkService()
    private let login = LoginService()
    private var bus: BusConnection?
    private var retry: BusRetry

    private var power: SysfsPower?
    private var network: KernelNetwork?
    private var idle: IdleSampler
    private var machine: MachineChanges
    /// The values read, without overrides; for conditions outside the interest, the latest value.
    private var seen = Conditions()
    /// Identity of the last network that was seen.
    private var identity: NetworkIdentity?
    private var reportedLock = DelayLockState.pending

    init(_ commands: ConditionCommands, _ snapshot: ConditionContext) {
        self.commands = commands
        self.snapshot = snapshot
        retry = BusRetry(snapshot.busRetrySeconds)
        idle = IdleSampler(snapshot)
        machine = MachineChanges(dev: snapshot.dev)
        wants = commands.wants
        login.onEvent = { [unowned self] event in
            if wants.interest.contains(.machineEvents) { return commands.tell(event) }
            if case .didWake = event, wants.interest.contains(.wakes) { commands.tell(event) }
        }
    }

    /// Returns when a stop was requested.
    func run() {
        while let next = commands.removeWants() {
            let now = SystemClock.now()
            wants = next
            if next.looksAnew { lookAnew(now.monotonic) }
            followBus(now.monotonic)
            followKernel(now)
            followMachine(now.monotonic)
            followPaths(now)
            if let bus {
                manager.consult(bus, about: network?.deciding)
                manager.followConnection(bus)
            }
            publish(now)
            // Requests queued on the bus are sent before the thread sleeps.
            sleep(SystemClock.now().monotonic)
        }
        leaveBus()
    }

    // MARK: - Bus

    /// The conditions for which a source is needed.
    private var needed: ConditionInterest {
        let needed = wants.interest.subtracting(ConditionInterest(wants.overrides.kinds))
        return needed.contains(.idle) ? needed : needed.subtracting(.idleEnd)
    }

    private func followBus(_ now: Instant) {
        if needed.isEmpty { return leaveBus() }
        login.idleLock.reason = needed.contains(.stayAwake) ? wants.awakeReason : nil
        login.delayReason = needed.contains(.machineEvents) ? wants.delayReason : nil
        do throws(SystemFailure) {
            guard let bus = try connected(now) else { return }
            if !needed.isDisjoint(with: [.power, .battery]) { try upower.service.attach(to: bus) }
            if needed.contains(.network) { try manager.service.attach(to: bus) }
            if needed.contains(.saver) { try profiles.attach(to: bus) }
            if !needed.isDisjoint(with: [.idle, .machineEvents, .wakes, .stayAwake]) {
                try login.service.attach(to: bus)
            }
            try bus.process()
            login.adjust(bus)
            if services.contains(where: \.isSettled) { retry.succeeded() }
        } catch {
            leaveBus()
            retry.failed(now: now)
        }
    }

    private var delayLock: DelayLockState {
        guard needed.contains(.machineEvents) else { return .pending }
        return bus == nil ? .unavailable : login.delayLock
    }

    private func connected(_ now: Instant) throws(SystemFailure) -> BusConnection? {
        if let bus { return bus }
        guard let address = snapshot.busAddress else { return nil }
        if let due = retry.due, now < due { return nil }
        retry.trying()
        let made = try BusConnection(address: address)
        bus = made
        return made
    }

    private func leaveBus() {
        guard bus != nil else { return }
        bus = nil
        upower.service.detach()
        manager.service.detach()
        profiles.detach()
        login.detach()
    }

    private var services: [BusService] {
        [upower.service, manager.service, login.service] + profiles.services
    }

    /// Every needed source has answered.
    private var isRead: Bool {
        if network?.isAsking ?? false { return false }
        guard bus != nil else { return true }
        if !needed.isDisjoint(with: [.power, .battery]), !upower.service.isSettled { return false }
        if needed.contains(.network), !manager.service.isSettled { return false }
        if needed.contains([.network, .networkNames]), manager.names == nil { return false }
        if needed.contains(.saver), !profiles.isSettled { return false }
        // A caller of `read` does not wait for the answer about logind's delay lock.
        return !needed.contains(.idle) || login.service.isSettled
    }

    // MARK: - Kernel

    private func followKernel(_ now: Moment) {
        followPower(now.monotonic)
        if needed.contains(.network), snapshot.readsNetwork {
            if network == nil {
                network = KernelNetwork(sysfs: snapshot.sysfs, now: now.monotonic)
            }
            network?.findsPlace = needed.contains(.networkNames)
            network?.advance(to: now.monotonic)
        } else {
            network = nil
        }
        // Sampled only once logind is known not to report idleness; its answer may take most of a
        // second.
        if needed.contains(.idle), login.isIdle == nil, bus == nil || login.service.isSettled {
            idle.sample(now, isRunning: needed.contains(.idleEnd), round: wants.round)
        } else {
            idle.forget()
        }
    }

    /// Follows the changes of the machine that triggers wait for.
    private func followMachine(_ now: Instant) {
        let isWanted =
            wants.interest.contains(.mounts) || needed.contains(.mounted) || !wants.paths.isEmpty
        let mounts = machine.follow(
            mountTable: isWanted ? snapshot.mountTable : nil, names: wants.fileSystems)
        if wants.interest.contains(.mounts), let mounts { commands.tell(.mounts(mounts)) }
        // logind tells it; without it the clocks do, when they are compared.
        let isCompared = wants.interest.contains(.wakes) && login.isIdle == nil
        if machine.compareClocks(every: isCompared ? snapshot.sleepSampleSeconds : nil, now: now) {
            commands.tell(.didWake)
        }
    }

    private func followPaths(_ now: Moment) {
        if wants.paths.isEmpty {
            machine.paths = nil
            return
        }
        let watches = machine.paths ?? PathWatches()
        machine.paths = watches
        watches.follow(wants.paths, now: now.monotonic)
        if let facts = watches.advance(to: now) { commands.tell(.paths(facts)) }
    }

    private func followPower(_ now: Instant) {
        guard !needed.isDisjoint(with: [.power, .battery]) else {
            power = nil
            return
        }
        let power =
            power ?? SysfsPower(sysfs: snapshot.sysfs, hears: snapshot.hearsDevices)
        self.power = power
        power.sample(now, everySeconds: sampleSeconds(power))
    }

    /// How often the supplies are read; `nil` = never, since changes are notified.
    private func sampleSeconds(_ power: SysfsPower) -> Double? {
        guard power.hasBattery else { return nil }
        if needed.contains(.power), upower.power == nil, !power.isTold {
            return snapshot.powerSampleSeconds
        }
        // UPower polls the charge itself, and notifies of changes.
        return needed.contains(.battery) && upower.battery == nil
            ? snapshot.batterySampleSeconds : nil
    }

    private func lookAnew(_ now: Instant) {
        power?.refresh()
        network?.refresh(now: now)
        idle.forget()
        retry = BusRetry(snapshot.busRetrySeconds)
    }

    // MARK: - Readings

    private func publish(_ now: Moment) {
        if needed.contains(.power) {
            seen.power.note(
                upower.power, UPower.source, power?.facts?.power, SysfsPower.source, now)
        }
        if needed.contains(.battery) {
            // An inner `nil` from UPower is an answer: there is no battery.
            if let battery = upower.battery {
                seen.battery.note(battery, source: UPower.source, now: now.wall)
            } else if let facts = power?.facts {
                seen.battery.note(facts.battery, source: SysfsPower.source, now: now.wall)
            } else {
                seen.battery.note(nil, source: "none", now: now.wall)
            }
        }
        if needed.contains(.network) {
            seen.network.note(
                manager.state, NetworkService.source, network?.state, KernelNetwork.source, now)
            followIdentity(now)
        }
        if needed.contains(.idle) {
            seen.isIdle.note(
                login.isIdle, LoginService.source, idle.isIdle, IdleSampler.source, now)
        }
        if needed.contains(.saver) {
            let saves = profiles.savesPower
            let source = saves == nil ? "none" : PowerProfiles.source
            seen.savesPower.note(saves, source: source, now: now.wall)
        }
        if needed.contains(.mounted) {
            let mounted = machine.fileSystems
            let source = mounted == nil ? "none" : MountTable.source
            seen.mounted.note(mounted, source: source, now: now.wall)
        }
        let shown = seen.only(wants.interest.kinds)
        commands.tell(wants.overrides.apply(to: shown), wants, complete: isRead)
        if delayLock != reportedLock {
            reportedLock = delayLock
            commands.report(delayLock)
        }
    }

    private func followIdentity(_ now: Moment) {
        var found = network?.identity
        if let connection = manager.connection {
            found = found ?? NetworkIdentity()
            found?.connection = connection
        }
        if let found {
            if identity?.follow(found) == true { seen.network.since = now.wall }
            identity = identity ?? found
        }
        seen.network.identity = identity
        seen.network.names = nil
        if needed.contains(.networkNames) {
            seen.network.names = NetworkNames(
                place: network?.place, connection: bus == nil ? [] : manager.names,
                known: wants.overrides.networks)
        }
    }

    // MARK: - Sleep

    private func sleep(_ now: Instant) {
        var polled = [pollfd(fd: commands.descriptor, events: Int16(POLLIN), revents: 0)]
        // poll(2) ignores a negative descriptor.
        polled.append(pollfd(fd: bus?.descriptor ?? -1, events: bus?.events ?? 0, revents: 0))
        polled.append(pollfd(fd: power?.descriptor ?? -1, events: Int16(POLLIN), revents: 0))
        polled.append(pollfd(fd: network?.descriptor ?? -1, events: Int16(POLLIN), revents: 0))
        polled.append(
            pollfd(fd: machine.descriptor ?? -1, events: Int16(POLLERR | POLLPRI), revents: 0))
        polled.append(
            pollfd(fd: machine.paths?.descriptor ?? -1, events: Int16(POLLIN), revents: 0))
        let answer = poll(&polled, nfds_t(polled.count), milliseconds(now))
        if answer < 0 {
            // If memory is short, poll may fail for a while (ENOMEM).
            if Glibc.errno != EINTR { usleep(100_000) }
            return
        }
        if polled[2].revents != 0 { power?.receive() }
        if polled[3].revents != 0 { network?.receive(now: SystemClock.now().monotonic) }
        if polled[4].revents != 0, let mounts = machine.receive() {
            if wants.interest.contains(.mounts) { commands.tell(.mounts(mounts)) }
            machine.paths?.expect(SystemClock.now().monotonic)
        }
        if polled[5].revents != 0 { machine.paths?.receive(now: SystemClock.now().monotonic) }
    }

    /// Milliseconds until the next work is due, rounded up so that it is due then. -1 = none is.
    private func milliseconds(_ now: Instant) -> Int32 {
        let due = [
            bus == nil && !needed.isEmpty ? retry.due : nil, power?.due, network?.due, idle.due,
            machine.due, machine.paths?.due,
        ].compactMap { $0 }.min().map { $0 - now }
        guard let seconds = [due, bus?.patience].compactMap({ $0 }).min() else { return -1 }
        return Int32(min(max(seconds, 0) * 1_000, 3_600_000).rounded(.up))
    }
}

extension Reading {
    /// Records the first of two sources that has a value.
    fileprivate mutating func note(
        _ first: Value?, _ firstSource: String, _ second: Value?, _ secondSource: String,
        _ now: Moment
    ) {
        if first != nil {
            note(first, source: firstSource, now: now.wall)
        } else {
            note(second, source: second == nil ? "none" : secondSource, now: now.wall)
        }
    }
}
