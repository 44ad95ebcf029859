import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// Which directories of a URL a WebDAV server is asked to make.
@Suite struct MissingDirectoriesTests {
    /// Makes directories at a server that has some. Returns the requests and how it ended.
    private func make(
        _ url: String, having there: Set<String>, refusing: Int? = nil
    ) throws -> (asked: [String], end: MissingDirectories.Answer) {
        var directories = try #require(MissingDirectories(of: url))
        var there = there
        var asked: [String] = []
        while asked.count < 20 {
            let next = directories.url
            asked.append(next)
            let above = next.dropLast().lastIndex(of: "/").map { String(next[...$0]) } ?? ""
            let status: Int
            if there.contains(next) {
                status = 405
            } else if there.contains(above) {
                status = refusing ?? 201
                if refusing == nil { there.insert(next) }
            } else {
                status = 409
            }
            let answer = directories.answered(status)
            if answer != .goOn { return (asked, answer) }
        }
        return (asked, .goOn)
    }

    @Test func theLowestIsTriedFirst() throws {
        let url = "https://u:p@h/a/b%2F/c/d.jpg?x=/1#/2"
        let a = "https://u:p@h/a/"
        let b = a + "b%2F/"
        let c = b + "c/"
        let root = "https://u:p@h/"
        let one = try make(url, having: [root, a, b])
        #expect(one.asked == [c] && one.end == .done)
        let all = try make(url, having: [root])
        #expect(all.asked == [c, b, a, b, c] && all.end == .done)
        let none = try make(url, having: [root, a, b, c])
        #expect(none.asked == [c] && none.end == .done)
    }

    @Test(arguments: [401, 407, 423, 429, 500, 507]) func aRefusalEndsIt(status: Int) throws {
        let made = try make("http://h/a/b/c", having: ["http://h/"], refusing: status)
        #expect(made.asked == ["http://h/a/b/", "http://h/a/"] && made.end == .refused)
    }

    /// Servers say so of a directory that is there, too: the others are made, and the PUT decides.
    @Test(arguments: [400, 403, 406, 409, 415, 501]) func theFileDecides(status: Int) throws {
        let made = try make("http://h/a/b/c", having: ["http://h/"], refusing: status)
        #expect(made.asked == ["http://h/a/b/", "http://h/a/", "http://h/a/b/"])
        #expect(made.end == .done)
    }

    @Test(arguments: [400, 403, 405, 406]) func theRefusalIsKept(status: Int) throws {
        var directories = try #require(MissingDirectories(of: "http://h/a/b"))
        var end = SegmentEnd(failure: nil, writtenThrough: 0, bytesReceived: 0)
        end.answer = Array("no".utf8)
        let head = ResponseHead(
            scheme: .http, status: status, headers: HeaderFields(), effectiveURL: "http://h/a/",
            httpVersion: 11, receivedAt: Timestamp(milliseconds: 0))
        let exchange = UploadExchange.makingDirectory("http://h/a/")
        #expect(directories.verdict(on: EndedExchange(exchange, end, head)) == .goOn)
        #expect(directories.missing == nil && (directories.refusal == nil) == (status == 405))
    }

    @Test func aServerWithoutDirectoriesIsAskedOnce() throws {
        let made = try make("http://h/a/b/c", having: [])
        #expect(made.asked == ["http://h/a/b/", "http://h/a/", "http://h/a/b/"])
        #expect(made.end == .done)
    }

    @Test(arguments: ["http://h/a", "http://h", "http://h/?q=/a/", "http://h//a"])
    func theRootIsNeverMade(url: String) {
        #expect(MissingDirectories(of: url) == nil)
    }

    @Test(arguments: [
        ("http://h/d/", "http://h/d/a%20b/c%25/"),
        ("http://h/d/?q=1", "http://h/d/a%20b/c%25/?q=1"),
        ("sftp://h", "sftp://h/a%20b/c%25/"), ("s3://b/p?/", "s3://b/p?/a%20b/c%25/"),
        ("http://h/d", "http://h/d"),
    ])
    func directoriesBelowAURL(url: String, expected: String) {
        #expect(UploadPlace.directory("a b/c%/", at: url) == expected)
        #expect(UploadPlace.isDirectory(url) == (url != expected))
    }
}
