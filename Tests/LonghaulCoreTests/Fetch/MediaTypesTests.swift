import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// The media type of a file that is sent.
@Suite struct MediaTypesTests {
    private static let list = MediaTypes(
        mimeTypes: Array(
            """
            # A comment: #/x x
            application/gzip\t\tgz
            application/x-other\tgz Z
            text/plain
            image/jpeg  jpeg JPG
            no-type\todd
            application/x-tar-gz tar.gz\r
            """.utf8))

    @Test(arguments: [
        ("a.gz", "application/gzip"), ("a.b.GZ", "application/gzip"), ("a.jpg", "image/jpeg"),
        ("a.tar.gz", "application/x-tar-gz"), ("v1.2.tar.gz", "application/x-tar-gz"),
        (".gz", nil), (".a.gz", "application/gzip"), ("gz", nil), ("a.", nil), ("", nil),
        ("a.odd", nil), ("a.x", nil), ("a.gz.part", nil), ("ä.z", "application/x-other"),
    ])
    func theLongestEndingCounts(name: String, type: String?) {
        #expect(Self.list.type(of: name) == type)
    }

    @Test func globsAreRead() {
        let text = """
            # comment
            80:application/x-iso:*.iso
            50:application/x-rom:*.iso
            50:text/x-makefile:makefile
            50:text/x-c++src:*.C:cs
            50:application/x-tar-gz:*.tar.gz
            """
        let list = MediaTypes(globs: Array(text.utf8))
        #expect(list.type(of: "a.iso") == "application/x-iso")
        #expect(list.type(of: "a.c") == nil && list.type(of: "makefile") == nil)
        #expect(list.type(of: "a.tar.gz") == "application/x-tar-gz")
        #expect(MediaTypes(globs: []).type(of: "a.iso") == nil)
    }

    private static let protocols: [(UploadProgress, size: Int64)] = [
        (.plain(PlainUpload.Kept()), 5), (.s3(S3Upload.Kept()), 5), (.s3(S3Upload.Kept()), 1 << 30),
        (.draft(DraftUpload.Kept(.ietf9)), 5), (.draft(DraftUpload.Kept(.ietf9)), 1 << 30),
    ]

    /// The first request of each protocol tells the type, unless a field of the user's does.
    @Test(arguments: protocols.indices) func theFirstRequestTellsIt(_ index: Int) throws {
        let (progress, size) = Self.protocols[index]
        let source = SourceVersion(device: 1, inode: 2, size: size, modified: 3, changed: 4)
        func type(_ change: (inout TransferOptions) -> Void) throws -> String? {
            var request = TransferRequest(uploadTo: "http://h/f", source)
            change(&request.options)
            let state = UploadState(progress, source: source)
            return try #require(state.conversation(request).next()).headers["Content-Type"]
        }
        #expect(try type { _ in } == "application/octet-stream")
        #expect(try type { $0.upload?.source?.mediaType = "a/name" } == "a/name")
        let said = try type {
            $0.upload?.source?.mediaType = "a/name"
            $0.upload?.contentType = "a/said"
        }
        #expect(said == "a/said")
        let fielded = try type {
            $0.upload?.source?.mediaType = "a/name"
            $0.headers["content-type"] = "a/field"
        }
        #expect(fielded == nil)
    }

    @Test func partsOfFormsAndMetadataOfTusHaveIt() throws {
        var source = SourceVersion(device: 1, inode: 2, size: 5, modified: 3, changed: 4)
        source.mediaType = "a/name"
        var options = UploadOptions()
        options.formField = "f"
        var request = TransferRequest(uploadTo: "http://h/f", source, options)
        func part() throws -> String {
            let state = UploadState(.plain(PlainUpload.Kept()), source: source)
            let form = try #require(state.conversation(request).next())
            return String(decoding: form.body.content?.before ?? [], as: UTF8.self)
        }
        func metadata() throws -> String {
            let state = UploadState(.tus(TusUpload.Kept()), source: source)
            let creation = try #require(state.conversation(request).next())
            return creation.headers["Upload-Metadata"] ?? ""
        }
        func filetype(_ type: String) -> String { "filetype " + Base64.encode(Array(type.utf8)) }
        #expect(try part().hasSuffix("\r\nContent-Type: a/name\r\n\r\n"))
        #expect(try metadata().hasSuffix(filetype("a/name")))
        request.options.headers["Content-Type"] = "a/field"
        #expect(try part().hasSuffix("\r\nContent-Type: a/field\r\n\r\n"))
        #expect(try metadata().hasSuffix(filetype("a/field")))
    }

    /// For a system without a list.
    @Test(arguments: [
        ("a.JPG", "image/jpeg"), ("a.tar.gz", "application/gzip"), ("a.mp4", "video/mp4"),
        ("a.json", "application/json"), ("a.txt", "text/plain"), ("a.webp", "image/webp"),
        ("a.unknown", nil), ("txt", nil),
    ])
    func commonTypesAreBuiltIn(name: String, type: String?) {
        #expect(MediaTypes.common.type(of: name) == type)
    }

    /// S3 ignores what comes after the file.
    @Test func otherFieldsComeBeforeTheFile() throws {
        let source = SourceVersion(device: 1, inode: 2, size: 5, modified: 3, changed: 4)
        var options = UploadOptions()
        options.formField = "file"
        options.formFields = [
            FormField(name: "key", value: "a=b\r\nc"), FormField(name: "q\"\r", value: ""),
        ]
        let request = TransferRequest(uploadTo: "http://h/f", source, options)
        let state = UploadState(.plain(PlainUpload.Kept()), source: source)
        let form = try #require(state.conversation(request).next())
        let before = String(decoding: form.body.content?.before ?? [], as: UTF8.self)
        let boundary = form.headers["Content-Type"]?.split(separator: "=").last ?? ""
        func part(_ rest: String) -> String {
            "--\(boundary)\r\nContent-Disposition: form-data; \(rest)"
        }
        #expect(
            before == part("name=\"key\"\r\n\r\na=b\r\nc\r\n")
                + part("name=\"q%22%0D\"\r\n\r\n\r\n")
                + part(
                    "name=\"file\"; filename=\"f\"\r\n"
                        + "Content-Type: application/octet-stream\r\n\r\n"))
    }
}
