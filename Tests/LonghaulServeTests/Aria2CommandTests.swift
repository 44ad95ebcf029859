import Foundation
import LonghaulTestSupport
import Testing

@testable import Longhaul
@testable import longhaul_aria2c

/// aria2c's command line.
@Suite struct Aria2CommandTests {
    @Test func wordsBecomeAList() throws {
        let arguments = try Aria2Arguments([
            "-x16", "-s", "4", "--dir=/d", "--out", "name", "-ctrue", "--header=A: b",
            "--file-allocation=none", "-k1M", "--max-overall-download-limit=1M", "--",
            "http://h/a", "http://m/a",
        ])
        let list = try Aria2List(arguments).text(input: nil)
        #expect(
            list == """
                http://h/a\thttp://m/a
                 auto-file-renaming=true
                 max-download-limit=1048576
                 max-connection-per-server=16
                 split=4
                 dir=/d
                 out=name
                 continue=true
                 header=A: b

                """)
    }

    @Test(arguments: [("1", "1"), ("16", "16"), ("1000", "64")])
    func downloadsAtOnceAreThoseOfGet(said: String, passed: String) throws {
        #expect(try Aria2Arguments(["-j", said]).parallel() == ["--parallel", passed])
        #expect(try Aria2Arguments(["-j\(said)"]).parallel() == ["--parallel", passed])
        #expect(try Aria2Arguments(["http://h/a"]).parallel() == [])
        for bad in ["0", "-1", "many"] {
            #expect(throws: LonghaulError.self) { try Aria2Arguments(["-j", bad]).parallel() }
        }
    }

    @Test func aListKeepsItsOwnOptions() throws {
        let arguments = try Aria2Arguments(["-Z", "-d", "/d", "http://h/a", "http://h/b"])
        let list = try Aria2List(arguments).text(input: "# list\nhttp://h/c\n  out=x\n")
        #expect(list.split(separator: "\n").filter { $0.hasPrefix("http") }.count == 3)
        #expect(list.hasSuffix("http://h/c\n auto-file-renaming=true\n dir=/d\n  out=x\n"))
    }

    /// A line break or a tab in it would begin an option or a mirror.
    @Test(arguments: ["\n out=x", "\r\n dir=/", "\thttp://m/", " x", "\u{1}", "\u{7F}", "\r"])
    func aURLHasNoLinesInIt(more: String) throws {
        for words in [["http://h/a" + more], ["-Z", "http://h/b", more + "http://h/a"]] {
            let arguments = try Aria2Arguments(words)
            let error = #expect(throws: LonghaulError.self) {
                try Aria2List(arguments).text(input: nil)
            }
            #expect(error?.code == .invalidRequest)
        }
    }

    @Test(arguments: ["\n", "\r\n"]) func eachEntryOfAListHasTheCommonOptions(end: String) throws {
        let arguments = try Aria2Arguments(["-d", "/d", "--header=A: b"])
        let lines = ["http://h/a", "  out=x", "", "# c", "http://h/b\thttp://m/b", ""]
        let list = try Aria2List(arguments).text(input: lines.joined(separator: end))
        let common = " auto-file-renaming=true\n dir=/d\n header=A: b\n"
        #expect(
            list == "http://h/a\n\(common)  out=x\nhttp://h/b\thttp://m/b\n\(common)")
    }

    @Test(arguments: ["-", "/dev/stdin", "/dev/fd/0", "pipe"])
    func aListComesThroughAPipe(path: String) async throws {
        try await LoopbackServer.run { server in
            let home = try LonghaulHome()
            let list = "\(server.url("a?size=1K"))\r\n\(server.url("b?size=1K"))\r\n"
            try home.scratch.write(list, to: "list")
            let command =
                path == "pipe"
                ? "exec \"$0\" -q -i <(cat \"$1\")" : "cat \"$1\" | \"$0\" -q -i \(path)"
            let end = try await CLIProcess(
                "/bin/bash",
                ["-c", command, try BuiltBinary.named("longhaul-aria2c"), home.scratch("list")],
                environment: home.environment, directory: home.scratch("files")
            ).wait()
            #expect(end.status == 0, "\(end.errors)")
            for name in ["a", "b"] {
                try server.expected("\(name)?size=1K").verify(file: home.file(name))
            }
        }
    }

    @Test(arguments: [
        (["--odd", "http://h/a"], "--odd"), (["-Y"], "-Y"), (["--dir"], "--dir"),
        (["--bt-max-peers=3"], "--bt-max-peers"), (["--interface", "eth0"], "--interface"),
    ])
    func whatIsNotKnownIsNamed(words: [String], name: String) throws {
        let error = #expect(throws: LonghaulError.self) { try Aria2Arguments(words) }
        #expect(error?.message.contains(name) == true, "\(String(describing: error))")
    }

    private func run(_ home: LonghaulHome, _ words: [String]) async throws -> CLIProcess.Result {
        try await CLIProcess(
            try BuiltBinary.named("longhaul-aria2c"), words, environment: home.environment,
            directory: home.scratch("files")
        ).wait()
    }

    @Test func itDownloads() async throws {
        try await LoopbackServer.run { server in
            let home = try LonghaulHome()
            let end = try await run(
                home, ["-q", "-x4", "-d", "sub", "-o", "b.bin", server.url("a.bin?size=100K")])
            #expect(end.status == 0, "\(end.errors)\(end.output)")
            try server.expected("a.bin?size=100K").verify(file: home.file("sub/b.bin"))
            let odd = try await run(home, ["--odd=1"])
            #expect(odd.status == 28 && odd.errors.contains("--odd"))
            let version = try await run(home, ["-v"])
            #expect(version.output.hasPrefix("aria2 version"))
        }
    }

    /// With JSON-RPC it stays until it is told to end.
    @Test func itServes() async throws {
        try await LoopbackServer.run { server in
            let home = try LonghaulHome()
            let process = try CLIProcess(
                try BuiltBinary.named("longhaul-aria2c"),
                [
                    "--enable-rpc", "--rpc-listen-port=0", "--rpc-secret=abc",
                    server.url("a.bin?size=10K"),
                ], environment: home.environment, directory: home.scratch("files"))
            try await process.waitForOutput("serving at")
            let port = try #require(
                process.errors.split { !$0.isNumber }.last.flatMap { Int($0) })
            let client = try Connection(port)
            let call = #"{"id":1,"method":"aria2.shutdown","params":["token:abc"]}"#
            try await eventually("it completes") {
                FileManager.default.fileExists(atPath: home.file("a.bin"))
            }
            client.write(
                "POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                    + "Content-Length: \(call.utf8.count)\r\n\r\n\(call)")
            #expect(client.read().contains("\"OK\""))
            #expect(try await process.wait().status == 0)
        }
    }

    @Test func ytDLPDownloadsThroughIt() async throws {
        guard await PythonEnvironment.isReady else { return }
        try await LoopbackServer.run { server in
            let home = try LonghaulHome()
            let end = try await PythonEnvironment.run(
                "yt-dlp-client.py",
                [
                    try BuiltBinary.named("longhaul-aria2c"), home.file("video.mp4"),
                    server.url("video.mp4?size=300K&contenttype=video/mp4"), home.state,
                ])
            #expect(end.status == 0, "\(end.errors)\(end.output)")
            try server.expected("video.mp4?size=300K").verify(file: home.file("video.mp4"))
            // It was Longhaul that did it.
            #expect(try await home.run("list", "--json").rows.count == 1)
        }
    }
}
