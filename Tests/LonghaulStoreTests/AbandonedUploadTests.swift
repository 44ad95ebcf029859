import LonghaulCore
import Testing

@testable import LonghaulStore

/// What an upload has left at its server is remembered with the commit that drops its fetch.
@Suite struct AbandonedUploadTests {
    private let scratch: ScratchStore
    private let epoch: Epoch

    init() throws {
        scratch = try ScratchStore()
        epoch = try scratch.lead()
    }

    /// A cancelled upload that has kept its fetch.
    private func add(address: String?) throws -> TransferID {
        let id = try scratch.add("/d/a") {
            $0.options.upload = UploadOptions()
            $0.options.user = "me:secret"
        }
        try scratch.turn(epoch) { tx in
            var (_, fetch) = try #require(try tx.transfers.claim(id, now: .start))
            var upload = UploadState()
            upload.progress = .tus(TusUpload.Kept(at: address))
            fetch.upload = upload
            try tx.fetches.save(fetch)
            try tx.transfers.cancel(id, numbers: TransferTotals(fetch), now: .start)
        }
        return id
    }

    private func begin(_ now: Timestamp = .start, limit: Int = 10) throws -> [AbandonedUpload] {
        try scratch.turn(epoch) { tx in try tx.abandonedUploads.begin(limit: limit, now: now) }
    }

    enum End: CaseIterable { case dropped, removed, cleaned }

    @Test(arguments: End.allCases) func whoeverDropsItRecordsIt(_ end: End) throws {
        let id = try add(address: "http://h/r/1")
        #expect(try begin().isEmpty)
        switch end {
        case .dropped: try scratch.turn(epoch) { tx in try tx.fetches.drop(of: id, now: .start) }
        case .removed: _ = try scratch.store.wants.remove([id], now: .start)
        case .cleaned:
            _ = try scratch.store.wants.clean(endedBefore: .start + 1, now: .start + 1) { $0 }
        }
        let found = try #require(try begin().first)
        #expect(found.transfer == id)
        #expect(found.state.address == "http://h/r/1")
        #expect(found.request.options.user == "me:secret")
        #expect(found.request.url.hasPrefix("https://a.example"))
    }

    /// The last answer has crossed with `set --url`: the file is not where it is wanted by now.
    @Test func anEndAtAnotherURLIsNone() throws {
        let id = try scratch.add("/d/a") { $0.options.upload = UploadOptions() }
        var claimed: FetchState?
        try scratch.turn(epoch) { tx in
            var (work, fetch) = try #require(try tx.transfers.claim(id, now: .start))
            fetch.upload = UploadState()
            fetch.askedURL = work.request.url
            try tx.fetches.save(fetch)
            claimed = fetch
        }
        let fetch = try #require(claimed)
        var change = RequestChange()
        change.url = ("https://b.example/a", "https://b.example:443")
        try scratch.store.wants.change(id, change, now: .start)
        try scratch.turn(epoch) { tx in
            try tx.transfers.complete(
                id, finalPath: "/d/a", numbers: TransferTotals(fetch), now: .start)
            verify(try tx.transfers.work(id)?.phase == .queued)
            verify(try tx.fetches.state(of: fetch.id)?.askedURL == fetch.askedURL)
        }
    }

    // MARK: - Credentials

    enum Ending: CaseIterable { case completed, failed, cancelled }

    /// What the file of the database has of a transfer's options once it has ended.
    private func storedOptions(
        after ending: Ending, _ edit: (inout TransferRequest) -> Void
    ) throws -> String {
        let id = try scratch.add("/d/a") {
            $0.options.user = "key:sekrit"
            $0.options.headers["X-Amz-Security-Token"] = "token"
            $0.options.headers["Authorization"] = "Bearer sekrit"
            $0.options.headers["User-Agent"] = "camera"
            edit(&$0)
        }
        try scratch.turn(epoch) { tx in
            var (work, fetch) = try #require(try tx.transfers.claim(id, now: .start))
            if work.isUpload { fetch.upload = UploadState() }
            try tx.fetches.save(fetch)
            let numbers = TransferTotals(fetch)
            switch ending {
            case .completed:
                try tx.transfers.complete(id, finalPath: "/d/a", numbers: numbers, now: .start)
            case .failed:
                try tx.transfers.fail(
                    id, error: LonghaulError(.serverError, ""), numbers: numbers, now: .start)
            case .cancelled: try tx.transfers.cancel(id, numbers: numbers, now: .start)
            }
        }
        let file = try Connection(path: scratch.directory + "/queue.sqlite")
        return try #require(
            try file.value("SELECT options FROM transfer WHERE id = ?1", id))
    }

    @Test(arguments: Ending.allCases)
    func aCompletedUploadKeepsNoCredentials(_ ending: Ending) throws {
        let text = try storedOptions(after: ending) { $0.options.upload = UploadOptions() }
        let isKept = ending != .completed
        for secret in ["key:sekrit", "token", "Bearer sekrit"] {
            #expect(text.contains(secret) == isKept, "\(secret) in \(text)")
        }
        #expect(text.contains("camera"))
    }

    /// With `--reuse` only one with the same credentials gets its file.
    @Test func aCompletedDownloadKeepsItsOwn() throws {
        #expect(try storedOptions(after: .completed) { _ in }.contains("key:sekrit"))
    }

    // MARK: -

    @Test func nothingIsRecordedOfOneThatHasNothing() throws {
        let id = try add(address: nil)
        _ = try scratch.store.wants.remove([id], now: .start)
        #expect(try begin().isEmpty)
        try scratch.turn(epoch) { tx in verify(try tx.abandonedUploads.nextDue() == nil) }
    }

    @Test func attemptsCountBeforeTheyAreMade() throws {
        for address in ["http://h/r/1", "http://h/r/2"] {
            _ = try scratch.store.wants.remove([try add(address: address)], now: .start)
        }
        #expect(try begin(limit: 1).map(\.state.address) == ["http://h/r/1"])
        #expect(try begin(limit: 1).map(\.state.address) == ["http://h/r/2"])
        #expect(try begin().isEmpty)
        let again = try begin(.start + 10)
        #expect(again.map(\.attempts) == [2, 2])
        try scratch.turn(epoch) { tx in
            verify(try tx.abandonedUploads.nextDue() == .start + 10 + 40)
            for upload in again { try tx.abandonedUploads.forget(upload.id) }
            verify(try tx.abandonedUploads.nextDue() == nil)
        }
    }
}
