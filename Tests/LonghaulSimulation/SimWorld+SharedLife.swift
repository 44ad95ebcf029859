import LonghaulCore
import LonghaulEngine
import LonghaulStore

/// A life of transfers that ask for the same file and share a fetch: joins, leaves, kills at any
/// effect.
extension SimWorld {
    static let sharedURL = "http://s0.test/f"
    private static let sharers = 8

    func liveShared(steps: Int = 140) throws {
        trouble = SimTrouble(&random)
        trouble.enqueues = 0
        disk.trouble = trouble
        wire.trouble = trouble
        let size = Int64.random(in: 1...1_500_000, using: &random)
        for url in [Self.sharedURL, sibling(of: Self.sharedURL)] {
            wire.contents[url] = SimContent(proof: .strongTag, label: 1, size: size)
        }
        nextLabel = 2
        setConditions()
        tellConditions()
        for step in 0..<steps {
            if step == 0 || (expected.count < Self.sharers && random.happens(0.1)) {
                let destination = ["/d", "/e"][step % 2] + "/f\(step)"
                let id = try share(destination)
                expected[id] = SimTransfer(
                    url: Self.sharedURL, destination: destination, policy: .fail)
                forgetPause(of: id)
            }
            try stepInTrouble()
        }
        try makePeace()
        try checkSharedAtRest()
        let inodes = expected.values.compactMap { disk.names[$0.destination] }
        if Set(inodes).count != expected.count {
            throw SimComplaint("files share an inode", self)
        }
        finishTally()
    }

    /// One more that asks for the file.
    @discardableResult
    func share(
        _ destination: String, _ edit: (inout TransferRequest) -> Void = { _ in }
    ) throws -> TransferID {
        var request = TransferRequest(url: Self.sharedURL, destination: .file(destination))
        request.options.connections = .exactly(1)
        edit(&request)
        let new = NewTransfer(
            request: request, origin: SimWire.origin(of: Self.sharedURL),
            destination: destination)
        let outcome = try clients.wants.enqueue([new], now: now.wall).first
        inputs.append(.wake)
        guard case .recorded(let id, _)? = outcome else { throw SimComplaint("refused", self) }
        return id
    }

    /// A copy that was made in the moment of a crash is for `doctor` to find.
    private func checkSharedAtRest() throws {
        if tally.crashPoints == 0 { return try checkAtRest() }
        try turn()
        for (id, known) in expected where !known.isVerified {
            throw SimComplaint("\(id) was never found completed", self)
        }
    }
}
