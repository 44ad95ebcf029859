import LonghaulCore
import Testing

@testable import LonghaulStore

/// What the store knows of files that were sent.
@Suite struct SentFileTests {
    @Test func theOldestAreForgotten() throws {
        let scratch = try ScratchStore()
        func fill(_ count: Int, at: Timestamp) throws {
            try scratch.store.write(.relaxed) { connection in
                for _ in 0..<count {
                    try connection.run(
                        "INSERT INTO sentFile (key, version, at) "
                            + "VALUES (coalesce((SELECT max(key) FROM sentFile), 0) + 1, '1', ?1)",
                        at)
                }
            }
        }
        func left(before: Timestamp, keeping most: Int) throws -> [Int64] {
            try scratch.store.write(.relaxed) { connection in
                try SentFileRows(connection).forget(before: before, keeping: most)
                return try connection.values("SELECT key FROM sentFile ORDER BY key")
            }
        }
        #expect(try left(before: .start, keeping: 3) == [])
        try fill(2, at: .start)
        try fill(4, at: .start + 10)
        #expect(try left(before: .start, keeping: 10) == [1, 2, 3, 4, 5, 6])
        #expect(try left(before: .start + 5, keeping: 10) == [3, 4, 5, 6])
        #expect(try left(before: .start + 5, keeping: 3) == [4, 5, 6])
        #expect(try left(before: .start + 11, keeping: 3) == [])
    }

    /// The same file at the same place by the same request, whatever its command.
    @Test func whatTellsFilesApart() {
        func file(
            _ path: String = "/v1/f", _ url: String = "http://h/d/f", version: String = "1 2 3",
            _ change: (inout TransferRequest) -> Void = { _ in }
        ) -> SentFile {
            var request = TransferRequest(url: url, destination: .file(path))
            request.options.upload = UploadOptions()
            change(&request)
            return SentFile(request, path: path, version: version)
        }
        func isSame(_ other: SentFile) -> Bool {
            other.key == file().key && other.version == file().version
        }
        #expect(isSame(file()))
        // How it is sent, and over which way, leaves the same file there.
        #expect(isSame(file { $0.options.upload?.createsDirectories = true }))
        #expect(isSame(file { $0.options.upload?.uploadProtocol = .put }))
        #expect(isSame(file { $0.options.proxy = "http://p" }))
        #expect(isSame(file { $0.options.headers["Traceparent"] = "00-1" }))
        #expect(isSame(file("/v1/f", "HTTP://h:80/x/../d/%66")))
        // Another file at the same place.
        for other in [
            file("/v2/f"), file(version: "1 2 4"), file("/v1/f", "http://me:p@h/d/f"),
            file { $0.options.user = "me:p" }, file { $0.options.headers["X-Tenant"] = "2" },
            file { $0.options.upload?.contentType = "a/b" },
            file { $0.options.headersFrom = "/h" }, file { $0.options.netrc = true },
        ] {
            #expect(other.key == file().key && other.version != file().version)
        }
        #expect(file("/v1/f", "http://h/d/g").key != file().key)
        // The server of a directory's URL decides where the file goes.
        #expect(file("/v1/f", "http://h/d/").key == file().key)
        // A password that is changed is no other user, and expiring keys are none.
        let users = ["me:p", "me:q"].map { user in file { $0.options.user = user }.version }
        #expect(users[0] == users[1])
        let basic = ["bWU6cA==", "bWU6cQ=="].map { text in
            file { $0.options.headers["Authorization"] = "Basic \(text)" }.version
        }
        #expect(basic[0] == basic[1])
        let keys = ["A:1", "B:2"].map { key in
            file {
                $0.options.upload?.uploadProtocol = .s3
                $0.options.user = key
                $0.options.headers["x-amz-security-token"] = key
            }.version
        }
        #expect(keys[0] == keys[1])
        // Where each upload makes a resource, files of several directories have one URL.
        let resources = ["/a/f", "/b/f"].map { path in
            file(path, "http://h/r/") { $0.options.upload?.uploadProtocol = .tus }.key
        }
        #expect(resources[0] != resources[1])
    }

    /// What may put another file there, or a part of it, between two equal uploads.
    enum Between: CaseIterable {
        case nothing, recorded, failed, cancelled, otherCompleted, moved, removed, again
    }

    /// An upload to the same place.
    private func new(_ version: String, _ url: String = "https://a.example/f") -> NewTransfer {
        var request = TransferRequest(url: url, destination: .file("/\(version)/f"))
        request.options.upload = UploadOptions()
        return NewTransfer(
            request: request, origin: "https://a.example:443", source: "/\(version)/f",
            reservation: Reservation("\(version) \(url)", version: "1 2 3"))
    }

    private func add(_ new: NewTransfer, to scratch: ScratchStore) throws -> TransferID {
        let outcomes = try scratch.store.wants.enqueue([new], now: .start)
        guard case .recorded(let id, _) = try #require(outcomes.first) else {
            throw LonghaulError(.internal, "not recorded")
        }
        return id
    }

    @Test(arguments: Between.allCases) func onlyTheLastOneThereIsSpared(
        _ between: Between
    ) throws {
        let scratch = try ScratchStore()
        let epoch = try scratch.lead()
        func end(
            _ id: TransferID, _ body: (borrowing EngineTransaction, TransferTotals) throws -> Void
        ) throws {
            try scratch.turn(epoch) { tx in
                var (work, fetch) = try #require(try tx.transfers.claim(id, now: .start))
                fetch.upload = UploadState()
                fetch.askedURL = work.request.url
                try tx.fetches.save(fetch)
                try body(tx, TransferTotals(fetch))
            }
        }
        func complete(_ id: TransferID, _ path: String) throws {
            try end(id) { tx, totals in
                try tx.transfers.complete(id, finalPath: path, numbers: totals, now: .start)
            }
        }
        func isSpared() throws -> Bool {
            try scratch.store.transfers.hasSent(try #require(SentFile(new("v1"))))
        }
        #expect(try !isSpared())
        let first = try add(new("v1"), to: scratch)
        try complete(first, "/v1/f")
        #expect(try isSpared())
        switch between {
        case .nothing: break
        case .recorded: _ = try add(new("v2"), to: scratch)
        case .failed:
            try end(try add(new("v2"), to: scratch)) { tx, totals in
                let error = LonghaulError(.network, "m")
                try tx.transfers.fail(
                    TransferID(rawValue: 2), error: error, numbers: totals, now: .start)
            }
        case .cancelled:
            try end(try add(new("v2"), to: scratch)) { tx, totals in
                try tx.transfers.cancel(
                    TransferID(rawValue: 2), numbers: totals, now: .start)
            }
        case .otherCompleted: try complete(try add(new("v2"), to: scratch), "/v2/f")
        case .moved:
            let other = try add(new("v2", "https://a.example/g"), to: scratch)
            #expect(try isSpared())
            var change = RequestChange()
            change.url = ("https://a.example/f", "https://a.example:443")
            try scratch.store.wants.change(other, change, now: .start)
        case .removed: _ = try scratch.store.wants.remove([first], now: .start)
        case .again: try complete(try add(new("v1"), to: scratch), "/v1/f")
        }
        let isThere = between == .nothing || between == .removed || between == .again
        #expect(try isSpared() == isThere)
        // One that has failed and is tried again may come last.
        if between == .failed {
            try complete(try add(new("v1"), to: scratch), "/v1/f")
            #expect(try isSpared())
            _ = try scratch.store.wants.change(.ids([TransferID(rawValue: 2)]), to: .retry)
            #expect(try !isSpared())
        }
    }
}
