import LonghaulCore
import Testing

/// `s3://BUCKET/PREFIX/`: objects, page by page.
@Suite struct ObjectFilesTests {
    private static let md5 = String(repeating: "01", count: 16)

    private static func object(
        _ key: String, _ size: Int = 5, tag: String = "&quot;\(md5)&quot;"
    ) -> String {
        "<Contents><Key>\(key)</Key><ETag>\(tag)</ETag><Size>\(size)</Size></Contents>"
    }

    private static func list(_ objects: String, more: String = "") -> String {
        """
        <?xml version="1.0"?>
        <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name>
        <IsTruncated>\(more.isEmpty ? "false" : "true")</IsTruncated>\(objects)\(more)
        </ListBucketResult>
        """
    }

    private func start(_ text: String = "s3://b/p%20q/") throws -> any ManifestConversation {
        var source = try BundleFixture.source(text)
        source.endpoint = "http://127.0.0.1:9000/b"
        source.region = "eu-west-1"
        return ManifestSources.conversation(for: source)
    }

    @Test func aListNamesObjects() throws {
        var talk = try start()
        let request = try #require(talk.next())
        #expect(request.url == "http://127.0.0.1:9000/b/?list-type=2&prefix=p%20q%2F")
        #expect(request.credential == .source)
        try talk.judge(
            BundleFixture.answer(
                Self.list(
                    Self.object("p q/", 0) + Self.object("p q/a&amp;b/é")
                        + Self.object("p q/d/", 0) + Self.object("p q/c", 9, tag: "\"ab-2\"")),
                at: request.url))
        let manifest = try #require(talk.manifest)
        #expect(talk.next() == nil)
        #expect(manifest.passedOver == 2)
        #expect(
            manifest.files == [
                ManifestFile(
                    path: "a&b/é", url: "http://127.0.0.1:9000/b/p%20q/a%26b/%C3%A9", size: 5,
                    digest: Checksum(parsing: "md5:\(Self.md5)"), sendsCredential: true),
                ManifestFile(
                    path: "c", url: "http://127.0.0.1:9000/b/p%20q/c", size: 9,
                    sendsCredential: true),
            ])
    }

    @Test func aListComesByPages() throws {
        var talk = try start("s3://b/")
        let token = "<NextContinuationToken>1+/=&amp;</NextContinuationToken>"
        try talk.judge(
            BundleFixture.answer(Self.list(Self.object("a"), more: token), at: "http://h/"))
        #expect(
            talk.next()?.url == "http://127.0.0.1:9000/b/?continuation-token=1%2B%2F%3D%26"
                + "&list-type=2&prefix=")
        try talk.judge(BundleFixture.answer(Self.list(Self.object("b")), at: "http://h/"))
        #expect(talk.manifest?.files.map(\.path) == ["a", "b"])
    }

    @Test func anotherObjectIsAnotherVersion() throws {
        let version = { (objects: String) in
            var talk = try self.start("s3://b/")
            try talk.judge(BundleFixture.answer(Self.list(objects), at: "http://h/"))
            return try #require(talk.manifest?.version)
        }
        let one = try version(Self.object("a"))
        #expect(try version(Self.object("a")) == one)
        #expect(try version(Self.object("a", tag: "x")) != one)
        #expect(try version(Self.object("b")) != one)
    }

    @Test(arguments: [
        "", "<html>", "<Error><Code>x</Code></Error>", list(""), list(object("p q/d/", 0)),
        list("<Contents><Key>p q/a</Key></Contents>"), list(object("other/a")),
        list(object("p q/../a")), list(object("p q//a")), list(object("p q/a&#x1B;")),
        list(object("p q/a", -5)), list(object("p q/a")).replacing("</ListBucketResult>", with: ""),
        list("", more: "<NextContinuationToken>1</NextContinuationToken>"),
        list(object("p q/a"), more: "<Else>1</Else>"),
    ])
    func aListThatCannotBeUsedIsRefused(_ body: String) throws {
        var talk = try start()
        let error = try #require(throws: LonghaulError.self) {
            try talk.judge(BundleFixture.answer(body, at: "http://h/"))
        }
        #expect(error.code == .invalidManifest)
    }

    @Test func theSamePageForEverEnds() throws {
        var talk = try start("s3://b/")
        let token = "<NextContinuationToken>1</NextContinuationToken>"
        let page = BundleFixture.answer(Self.list(Self.object("a"), more: token), at: "http://h/")
        try talk.judge(page)
        let error = try #require(throws: LonghaulError.self) { try talk.judge(page) }
        #expect(error.code == .invalidManifest)
    }

    @Test func anotherRegionIsNamed() throws {
        var talk = try start()
        let error = try #require(throws: LonghaulError.self) {
            try talk.judge(
                BundleFixture.answer(
                    "", at: "http://h/", status: 301,
                    headers: ["x-amz-bucket-region": "us-west-2"]))
        }
        #expect(error.message.contains("us-west-2"))
    }
}
