import LonghaulCore
import LonghaulEngine
import LonghaulSimulatedWire
import LonghaulStore
import LonghaulTestSupport

@testable import LonghaulSimulation

/// A month of a machine with the real engine and store: the same month that the policy alone lives.
extension SimWorld {
    static let monthSteps = 60_000

    func liveMonth(transfers count: Int) throws {
        time = Month.time
        try restart(in: Month.time)
        for _ in 0..<8 { Month.change(&conditions, at: now.wall, &random) }
        tellConditions()
        for _ in 0..<count { try enqueuePlan() }
        tally.transfers = count
        for _ in 0..<Self.monthSteps {
            try monthStep()
            forgetEnded()
            if expected.isEmpty { return }
        }
        throw SimComplaint("a month is over and \(expected.keys.sorted()) have not ended", self)
    }

    private func enqueuePlan() throws {
        let plan = Month.plan(&random)
        let host = plan.usesNetwork ? plan.origin.rawValue.dropLast(3) : "http://127.0.0.1"
        let url = "\(host)/f\(nextURL)"
        let destination = "/d/f\(nextURL)"
        nextURL += 1
        var content = SimContent(proof: .strongTag, label: nextLabel, size: plan.bytes)
        content.rate = Month.rates[plan.origin] ?? 1
        nextLabel += 1
        wire.contents[url] = content
        var request = plan.request
        request.url = url
        request.destination = .file(destination)
        request.options.connections = .exactly(1)
        request.earliestBegin = plan.begin > now.wall ? plan.begin : nil
        request.deadline = .at(plan.deadline)
        let new = NewTransfer(
            request: request, origin: SimWire.origin(of: url), destination: destination)
        let outcome = try clients.wants.enqueue([new], now: now.wall).first
        guard case .recorded(let id, _)? = outcome else { return }
        expected[id] = SimTransfer(url: url, destination: destination, policy: .fail)
    }

    /// Minutes while nothing moves, seconds while something does; the engine is late at times.
    private func monthStep() throws {
        let isBusy = hasNews || !wire.order.isEmpty || !disk.orders.isEmpty
        var seconds = Double.random(in: 0...(isBusy ? 40 : 1800), using: &random)
        if isBusy { seconds = min(seconds, max(secondsToNext(), 5)) }
        // What it asked to be woken for; the looks between would find nothing.
        if let wakesAt { seconds = min(seconds, max(0.01, wakesAt - now.monotonic)) }
        pass(seconds)
        wire.advance(seconds)
        for _ in 0..<12 { disk.step() }
        if random.happens(isBusy ? 0.02 : 0.15) { try disturbMonth() }
        if isTurnDue { try turn() }
        if let complaint { throw complaint }
    }

    private func disturbMonth() throws {
        switch Int.random(in: 0..<60, using: &random) {
        case 0:
            tally.clockJumps += 1
            now.wall = now.wall + Double.random(in: -7200...7200, using: &random)
            wire.now = now
        case 1, 2:
            isDead = true
            pass(Double.random(in: 1...5400, using: &random))
            try crash()
        default:
            Month.change(&conditions, at: now.wall, &random)
            tellConditions()
        }
    }

    /// What has ended was checked when it did.
    private func forgetEnded() {
        for id in expected.keys where shown[id]?.state.hasEnded == true {
            expected[id] = nil
            shown[id] = nil
        }
    }
}
