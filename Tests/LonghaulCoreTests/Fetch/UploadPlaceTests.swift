import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// Where a file goes whose upload was given the URL of a directory.
@Suite struct UploadPlaceTests {
    @Test(arguments: [
        ("http://h/d/", "http://h/d/a%20b"), ("http://h", "http://h/a%20b"),
        ("https://u:p@h:81/", "https://u:p@h:81/a%20b"),
        ("http://h?q=/", "http://h/a%20b?q=/"), ("http://h/d/?q=1#f", "http://h/d/a%20b?q=1#f"),
        ("ftp://h", "ftp://h/a%20b"), ("ftps://h/d%20e/", "ftps://h/d%20e/a%20b"),
        ("sftp://h/~/", "sftp://h/~/a%20b"), ("ftp://h/d?/", "ftp://h/d?/a%20b"),
        ("s3://b", "s3://b/a%20b"), ("s3://b/k?/#/", "s3://b/k?/#/a%20b"),
        ("http://h/d", "http://h/d"), ("http://h/d?/", "http://h/d?/"), ("s3://b/k", "s3://b/k"),
        ("sftp://h/d/#f", "sftp://h/d/a%20b#f"),
    ])
    func theNameIsAppended(_ url: String, _ place: String) {
        #expect(UploadPlace.url(of: "a b", at: url) == place)
        #expect(UploadPlace.url(of: "a b", at: place) == place)
    }

    @Test(arguments: [
        ("%C3/é?#", "http://h/%25C3/%C3%A9%3F%23"), ("..a;type=a", "http://h/..a%3Btype%3Da"),
    ])
    func aNameIsEncoded(_ name: String, _ url: String) {
        let last = name.split(separator: "/").last.map(String.init) ?? name
        let shown = url.split(separator: "/").last.map(String.init) ?? url
        #expect(UploadPlace.url(of: last, at: "http://h/") == "http://h/\(shown)")
    }

    private func request(_ url: String, _ upload: UploadOptions) -> TransferRequest {
        var request = TransferRequest(url: url, destination: .file("/tmp/x/a b"))
        request.options.upload = upload
        return request
    }

    /// Where tus and the draft make resources, and where a POST goes, the URL stays; of `auto` the
    /// server is asked first.
    @Test(
        arguments: [
            ("http://h/d/", .put, true), ("http://h/d/", .s3, true), ("http://h/d/", .auto, false),
            ("http://h/d/", .post, false), ("http://h/d/", .ietf, false),
            ("http://h/d/", .tus, false), ("ftp://h/d/", .auto, true),
            ("sftp://h/d/", .auto, true),
        ] as [(String, UploadProtocol, Bool)])
    func someURLsAreNamedAtOnce(_ url: String, _ way: UploadProtocol, _ isNamed: Bool) {
        var upload = UploadOptions()
        upload.uploadProtocol = way
        let named = UploadPlace.named(request(url, upload))
        #expect(named.url == (isNamed ? url + "a%20b" : url))
    }

    @Test func bothURLsOfAnObjectAreNamed() {
        var upload = UploadOptions()
        upload.uploadProtocol = .s3
        var request = request("http://127.0.0.1:9000/b/k/", upload)
        request.options.s3 = S3Access()
        request.options.s3?.askedURL = "s3://b/k/"
        let named = UploadPlace.named(request)
        #expect(named.url == "http://127.0.0.1:9000/b/k/a%20b")
        #expect(named.options.s3?.askedURL == "s3://b/k/a%20b")
    }

    /// What is sent once the server is known.
    @Test(
        arguments: [
            (.plain(PlainUpload.Kept()), nil, nil, "http://h/d/a%20b"),
            (.plain(PlainUpload.Kept()), .post, nil, "http://h/d/"),
            (.plain(PlainUpload.Kept()), nil, "file", "http://h/d/"),
            (.tus(TusUpload.Kept()), nil, nil, "http://h/d/"),
            (.draft(DraftUpload.Kept(.ietf9)), nil, nil, "http://h/d/"),
        ] as [(UploadProgress, UploadMethod?, String?, String)])
    func theServerDecides(
        _ progress: UploadProgress, _ method: UploadMethod?, _ field: String?, _ url: String
    ) throws {
        var upload = UploadOptions()
        upload.method = method
        upload.formField = field
        upload.source = SourceVersion(device: 1, inode: 1, size: 9, modified: 1, changed: 1)
        let found = try UploadState(progress).conversation(request("http://h/d/", upload))
        #expect(found.next()?.url == url)
    }
}
