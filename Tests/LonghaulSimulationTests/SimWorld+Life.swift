import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// What happens to the world: clients, servers that change, crashes, and in the end peace.
extension SimWorld {
    func populate() throws {
        let count = Int.random(in: 1...6, using: &random)
        for index in 0..<count {
            let url = "http://s\(index % 2).test/f\(index)"
            let big = Int.random(in: 0..<4, using: &random) == 0
            let size = Int.random(in: 0...(big ? 2_000_000 : 30_000), using: &random)
            var content = SimContent(
                proof: SimContent.Proof.allCases.randomElement(using: &random) ?? .strongTag,
                sizes: [size])
            content.ignoresRanges = Int.random(in: 0..<6, using: &random) == 0
            wire.contents[url] = content
            var request = TransferRequest(url: url, destination: .file("/d/f\(index)"))
            request.options.connections = [.automatic, .exactly(3)][index % 2]
            let outcomes = try store.enqueue(
                [
                    NewTransfer(
                        request: request, origin: "http://s\(index % 2).test:80",
                        destination: "/d/f\(index)")
                ], now: now.wall)
            guard case .recorded(let id, _)? = outcomes.first else { continue }
            expected[id] = SimTransfer(url: url, destination: "/d/f\(index)")
        }
    }

    /// One step of trouble.
    func stepInTrouble() throws {
        disk.syncsFail = true
        for _ in 0..<Int.random(in: 1...6, using: &random) { wire.step(&random) }
        for _ in 0..<Int.random(in: 0...4, using: &random) { disk.step(&random) }
        pass(Double.random(in: 0...0.8, using: &random))
        let dice = Int.random(in: 0..<100, using: &random)
        if dice < 5 { fuse = Int.random(in: 0...12, using: &random) }
        if dice >= 5, dice < 8 { changeContent() }
        if dice >= 8, dice < 16 { try clientActs() }
        try turn()
        if isDead || (fuse ?? 1) < 0 { try crash() }
        try checkProgress()
    }

    private func changeContent() {
        guard let url = wire.contents.keys.sorted().randomElement(using: &random) else { return }
        let size = Int.random(in: 0...80_000, using: &random)
        wire.contents[url]?.sizes.append(size)
        say("\(url) changed to \(size) bytes")
    }

    private func clientActs() throws {
        guard !isDead, fuse == nil, let id = expected.keys.sorted().randomElement(using: &random)
        else { return }
        let change: WantedChange = [.pause, .resume, .cancel(keepBytes: true), .retry][
            Int.random(in: 0..<4, using: &random)]
        _ = try store.change(.ids([id]), to: change)
        say("\(id): \(change)")
        inputs.append(.wake)
    }

    /// Faults stop, everybody wants everything: it must all end.
    func makePeace() throws {
        wire.faults = false
        disk.syncsFail = false
        fuse = nil
        var rounds = 0
        while true {
            let open = try expected.keys.sorted().filter {
                try store.transfer($0, now: now.wall)?.state != .completed
            }
            if open.isEmpty { return }
            _ = try store.change(.ids(open), to: .retry)
            _ = try store.change(.ids(open), to: .resume)
            inputs.append(.wake)
            for _ in 0..<40 {
                for _ in 0..<8 { wire.step(&random) }
                for _ in 0..<8 { disk.step(&random) }
                try turn()
                pass(0.05)
            }
            // Back-off and cool-downs pass.
            if engineIsIdle { pass(900) }
            rounds += 1
            guard rounds < 400 else { throw SimComplaint("not done: \(open)", self) }
        }
    }

    private var engineIsIdle: Bool {
        wire.order.isEmpty && disk.orders.isEmpty
    }
}

/// A promise that was broken.
struct SimComplaint: Error, CustomStringConvertible {
    let description: String

    init(_ text: String, _ world: SimWorld) {
        description = "seed \(world.seed): \(text)\n" + world.trace.joined(separator: "\n")
    }
}
