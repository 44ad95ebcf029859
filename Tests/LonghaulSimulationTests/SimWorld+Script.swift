import LonghaulCore
import LonghaulEngine
import LonghaulSimulatedWire
import LonghaulStore
import Testing

@testable import LonghaulSimulation

/// Worlds without chance, for tests that tell one story.
extension SimWorld {
    /// One file on a good server, and somebody who wants it.
    @discardableResult
    func enqueue(_ size: Int64, _ edit: (inout TransferRequest) -> Void) throws -> TransferID {
        let url = "http://s0.test/f\(nextURL)"
        let destination = "/d/f\(nextURL)"
        nextURL += 1
        var content = SimContent(proof: .strongTag, label: nextLabel, size: size)
        content.rate = 1_000_000
        nextLabel += 1
        wire.contents[url] = content
        var request = TransferRequest(url: url, destination: .file(destination))
        request.options.connections = .exactly(1)
        edit(&request)
        let new = NewTransfer(
            request: request, origin: SimWire.origin(of: url), destination: destination)
        let outcome = try #require(try record(new))
        guard case .recorded(let id, _) = outcome else { throw SimComplaint("\(outcome)", self) }
        expected[id] = SimTransfer(url: url, destination: destination, policy: .fail)
        inputs.append(.wake)
        return id
    }

    func transfer(_ id: TransferID = TransferID(rawValue: 1)) throws -> Transfer {
        try #require(try store.transfers.find(id, now: now.wall))
    }

    /// The conditions become these, on the same network as before.
    func tell(_ text: String) throws {
        try ConditionOverride(parsing: text).apply(to: &conditions, source: "test") { _ in
            now.wall
        }
        conditions.network.identity = NetworkIdentity(connection: "0")
        tellConditions()
    }

    /// The engine is replaced by one that goes by this zone, and the limits as they now are.
    func restart(in zone: LocalTime) throws {
        time = zone
        wire.forget()
        disk.kill()
        try startEngine()
    }

    /// Turns and steps until it holds, at most for `seconds` of the world.
    @discardableResult
    func run(
        for seconds: Double, disk steps: Int = 4, until isDone: () throws -> Bool = { false }
    ) throws -> Bool {
        let end = now.monotonic + seconds
        while now.monotonic < end {
            if try isDone() { return true }
            wire.advance(0.05)
            for _ in 0..<steps { disk.step() }
            if isTurnDue { try turn() }
            pass(0.05)
        }
        return try isDone()
    }

    /// A bundle of a small file and one that takes 100 s, as a client has added it.
    func makeStory(_ layout: BundleLayoutKind) throws -> SimBundles {
        let bundles = try SimBundles(self)
        self.bundles = bundles
        var bundle = SimBundle(
            name: "b0", list: "http://s0.test/b0/list", isOfSums: true,
            directory: "/tmp/longhaul-sim/b0", layout: layout, settings: BundleSettings())
        for (path, size) in [("small", 1_000), ("large", 200_000)] as [(String, Int64)] {
            let url = "http://s0.test/b0/\(path)"
            var content = SimContent(proof: .strongTag, label: nextLabel, size: size)
            content.rate = 2_000
            nextLabel += 1
            wire.contents[url] = content
            bundle.files.append(
                SimBundle.File(
                    path: path, url: url, digest: SimDisk.checksum(of: content.current)))
        }
        publish(&bundle)
        bundles.all = [bundle]
        try addBundle(0)
        inputs.append(.wake)
        return bundles
    }
}
