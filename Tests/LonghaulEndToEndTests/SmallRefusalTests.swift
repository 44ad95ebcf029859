import Foundation
import Glibc
import LonghaulTestSupport
import Testing

/// Refusals that say what helps, and those that are none.
@Suite(.serialized, .timeLimit(.minutes(60))) struct SmallRefusalTests {
    /// The server names the files: that their URLs end alike is no conflict, and the same list once
    /// more is the same transfers.
    @Test func namesOfTheServer() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let urls = (1...4).map { number in
                let name = number == 4 ? "" : "&disposition=attachment%3Bfilename%3Df\(number).bin"
                return server.url("get.php?seed=\(number)&size=10K\(name)")
            }
            let asked = ["enqueue", "--no-start", "--remote-name", "-d", home.file("")] + urls
            for _ in 0..<2 {
                let result = try await home.start(asked).wait()
                #expect(result.status == 0, "\(result.errors)")
            }
            #expect(try await home.run("list", "--json").rows.count == 4)
            #expect(try await home.run("run").status == 0)
            let names = try home.scratch.names(in: "files").sorted()
            #expect(names.filter { $0.hasPrefix("f") } == ["f1.bin", "f2.bin", "f3.bin"])
            #expect(names.count == 4)
            let plain = try await home.start(
                ["enqueue", "--no-start", "-d", home.file("")] + urls[..<2]
            ).wait()
            #expect(plain.status == 5)
            #expect(plain.errors.contains("--if-exists rename"))
        }
    }

    @Test func whatIsNoFile() async throws {
        let home = try LonghaulHome()
        let pipe = home.scratch("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        let url = "http://127.0.0.1:1/a"
        for path in ["/dev/null", pipe] {
            let get = try await home.run("get", url, "-o", path)
            #expect(get.status == 64)
            #expect(get.errors.contains("get -o -"))
        }
        let link = home.file("link")
        try Data("begun".utf8).write(to: URL(fileURLWithPath: home.file("begun")))
        try FileManager.default.createSymbolicLink(
            atPath: link, withDestinationPath: home.file("begun"))
        let continued = try await home.run("get", url, "-o", link, "--continue")
        #expect(continued.status == 5)
        #expect(continued.errors.contains("is a symbolic link"))
        let empty = try await home.run("get", url, "-o", home.file("a"), "--retry-status", "")
        #expect(empty.status == 64)
    }

    /// `--quiet` hides progress, and no failure.
    @Test(arguments: ["get", "upload"]) func quietIsNotSilent(command: String) async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let failed: CLIProcess.Result
            if command == "get" {
                failed = try await home.run(
                    "get", "-q", server.url("a.bin?status=404"), "-o", home.file("a"))
            } else {
                let tree = home.scratch("tree")
                try FileManager.default.createDirectory(
                    atPath: tree, withIntermediateDirectories: true)
                try Data("a".utf8).write(to: URL(fileURLWithPath: tree + "/a"))
                failed = try await home.run(
                    "upload", "-q", "--wait", tree + "/a", server.url("a?status=403"),
                    "--protocol", "put")
            }
            #expect(failed.status == 1)
            #expect(failed.errors.contains("longhaul: 1: the server"), "\(failed.errors)")
        }
    }
}
