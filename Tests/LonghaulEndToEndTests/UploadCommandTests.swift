import Foundation
import LonghaulTestSupport
import Testing

/// What `upload` says of requests that are there already, of lists and of what it refuses. Nothing
/// is sent.
@Suite struct UploadCommandTests {
    private let home: LonghaulHome
    private let url = "http://127.0.0.1:9/a"

    init() throws {
        home = try LonghaulHome()
        for name in ["a", "b"] { try home.scratch.write("hello \(name)", to: "files/\(name)") }
    }

    private func upload(_ arguments: [String], status: Int32 = 0) async throws -> CLIProcess.Result
    {
        let result = try await home.start(["upload", "--no-start"] + arguments).wait()
        #expect(result.status == status, "\(arguments): \(result.errors)\(result.output)")
        return result
    }

    private func shown(_ id: Int) async throws -> JSONValue {
        try #require(try await home.run("show", "\(id)", "--json").rows.first)
    }

    @Test func theSameAgainIsThatTransfer() async throws {
        #expect(try await upload(["a", url]).output == "1\n")
        let again = try await upload(["--if-changed", "restart", "--repeatable", "a", url])
        #expect(again.output == "1\n")
        #expect(again.errors.contains("1: recorded already"), "\(again.errors)")
        let transfer = try await shown(1)
        #expect(transfer["options"]["ifChanged"] == "restart")
        #expect(transfer["options"]["repeatable"] == true)
        #expect(try await upload(["--content-type", "text/plain", "a", url]).output == "1\n")
        // Another way to send it is another transfer.
        #expect(try await upload(["--protocol", "tus", "a", url]).output == "2\n")
        #expect(try await shown(2)["options"]["protocol"] == "tus")
        let lines = try await home.run("show", "1").output
        #expect(lines.contains("Content type:  text/plain"), "\(lines)")
    }

    @Test func duplicatesAreAsForDownloads() async throws {
        _ = try await upload(["a", url])
        let refusal = try await upload(
            ["--json", "--on-duplicate", "fail", "a", url], status: 5)
        #expect(try refusal.rows.first?["error"]["code"] == "conflict")
        #expect(try await upload(["--on-duplicate", "separate", "a", url]).output == "2\n")
    }

    @Test func theSameLineTwiceIsOneUpload() async throws {
        let line = "{\"source\":\"a\",\"url\":\"\(url)\"}\n"
        try home.scratch.write(line + line, to: "files/list")
        #expect(try await upload(["--input", "list"]).output == "1\n1\n")
    }

    /// A line that is refused is named, whenever that is found.
    @Test(
        arguments: [
            ("{\"source\":\"none\",\"url\":\"http://127.0.0.1:9/b\"}", "invalidRequest", 64),
            ("{\"source\":\"b\",\"url\":\"http://127.0.0.1:9/b\",\"x\":1}", "invalidRequest", 64),
        ] as [(String, String, Int32)])
    func aListIsTakenWhole(_ second: String, _ code: String, _ status: Int32) async throws {
        let lines = "{\"source\":\"a\",\"url\":\"\(url)\"}\n\(second)\n"
        try home.scratch.write(lines, to: "files/list")
        for wait in [[], ["--wait"]] {
            let refusal = try await upload(wait + ["--json", "--input", "list"], status: status)
            let row = try #require(try refusal.rows.first)
            #expect(row["error"]["code"].string == code)
            #expect(row["line"] == 2 || row["error"]["line"] == 2, "\(row)")
        }
        #expect(try await home.run("list", "--json").rows.isEmpty)
        let kept = try await upload(["--keep-going", "--input", "list"], status: 5)
        #expect(kept.output == "1\n")
        #expect(kept.errors.contains("line 2: "), "\(kept.errors)")
    }

    @Test(arguments: ["4M", "5121M", "6G"]) func partsHaveTheSizesOfS3(_ size: String) async throws
    {
        let refusal = try await upload(
            ["--protocol", "s3", "--user", "k:s", "--part-size", size, "a", url], status: 64)
        #expect(refusal.errors.contains("5 MiB to 5 GiB"), "\(refusal.errors)")
    }

    @Test func anUploadIsShownWithBothItsPlaces() async throws {
        _ = try await upload(["a", url + "?token=secret"])
        let list = try await home.with(["LC_ALL": "C.UTF-8"]).run("list").output
        #expect(list.contains("/a → http://127.0.0.1:9/a?token=REDACTED"), "\(list)")
        let transfer = try await shown(1)
        #expect(transfer["bytesDone"] == 0 && transfer["bytesSent"] == 0, "\(transfer)")
        // What was listed is taken as a request.
        let rows = try await home.run("list", "--json").output
            .replacing("REDACTED", with: "secret")
        #expect(try await home.run("enqueue", "--input", "-", input: rows).output == "1\n")
    }

    /// Over HTTP nothing is renamed.
    @Test func inPlaceIsForFTPAndSFTP() async throws {
        let refusal = try await upload(["--json", "--in-place", "a", url], status: 64)
        #expect(try refusal.rows.first?["error"]["code"] == "invalidRequest")
        _ = try await upload(["a", "ftp://127.0.0.1:9/a"])
        #expect(try await upload(["--in-place", "a", "ftp://127.0.0.1:9/a"]).output == "1\n")
        #expect(try await shown(1)["options"]["inPlace"] == true)
    }

    @Test func keysThatAreMissingAreARefusal() async throws {
        let refusal = try await upload(["--json", "a", "s3://bucket/key"], status: 5)
        #expect(try refusal.rows.first?["error"]["code"] == "unauthorized")
    }
}
