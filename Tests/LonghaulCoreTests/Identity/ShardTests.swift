import LonghaulCore
import Testing

@Suite struct ShardTests {
    private func request(_ url: String, to path: String = "/d/f") -> TransferRequest {
        TransferRequest(url: url, destination: .file(path))
    }

    @Test(arguments: [
        ("1/1", true), ("1/4", true), ("4/4", true), ("1/1000000", true), ("0/4", false),
        ("5/4", false), ("1/0", false), ("-1/4", false), ("1/1000001", false), ("1", false),
        ("1/2/3", false), ("a/b", false), ("", false), ("/4", false), ("1/ 4", false),
    ])
    func isWritten(_ text: String, isOne: Bool) {
        #expect((Shard(text) != nil) == isOne)
        if isOne { #expect(Shard(text)?.text == text) }
    }

    /// Machines of different versions share a list, and a shard is run again after an update: the
    /// assignment is for ever.
    @Test(arguments: [
        ("https://example.com/a", [2, 4, 949]), ("https://example.com/b", [1, 2, 424]),
        ("ftp://h/c?x=1", [1, 1, 97]),
    ])
    func isTheSameForEver(_ url: String, _ expected: [Int]) {
        for (count, expected) in zip([2, 4, 1000], expected) {
            let found = (1...count).filter {
                Shard(index: $0, count: count)?.contains(request(url)) == true
            }
            #expect(found == [expected])
        }
    }

    @Test func isEven() throws {
        let shards = try (1...4).map { try #require(Shard(index: $0, count: 4)) }
        let requests = (0..<4000).map { request("https://example.com/files/\($0).bin") }
        let counts = shards.map { shard in requests.count { shard.contains($0) } }
        #expect(counts.reduce(0, +) == 4000)
        for count in counts { #expect((800...1200).contains(count)) }
    }

    /// The directory of a download may be another one on each machine; an upload is its file.
    @Test func theFileCountsForUploadsOnly() throws {
        let shard = try #require(Shard("1/2"))
        let paths = (0..<64).map { "/d/\($0)" }
        let downloads = paths.map { shard.contains(request("https://h/f", to: $0)) }
        #expect(Set(downloads).count == 1)
        let uploads = paths.map { path in
            var request = request("https://h/f/", to: path)
            request.options.upload = UploadOptions()
            return shard.contains(request)
        }
        #expect(Set(uploads).count == 2)
    }

    @Test func boundsAreDivided() throws {
        let shard = try #require(Shard("2/4"))
        #expect(shard.share(of: 8) == 2 && shard.share(of: 6) == 1 && shard.share(of: 3) == 1)
    }
}
