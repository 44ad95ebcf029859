import LonghaulCore
import Testing

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

    @Test(arguments: [401, 403, 415, 423, 500, 501, 507]) func aRefusalEndsIt(status: Int) throws {
        let made = try make("http://h/a/b/c", having: ["http://h/"], refusing: status)
        #expect(made.asked == ["http://h/a/b/", "http://h/a/"] && made.end == .refused)
    }

    @Test func aServerWithoutDirectoriesIsLeftAlone() throws {
        let made = try make("http://h/a/b/c", having: [])
        #expect(made.asked == ["http://h/a/b/", "http://h/a/"] && made.end == .refused)
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
