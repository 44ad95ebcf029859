import Foundation
import LonghaulTestSupport
import Testing

@testable import Longhaul
@testable import LonghaulServe

/// Below which directories a server reads and writes, and which names it takes.
@Suite struct ServedDirectoryTests {
    @Test func hiddenNamesAreRefused() throws {
        let scratch = try Scratch("served")
        let root = try scratch.directory(".hidden/root")
        for name in [".ssh", "music"] { _ = try scratch.directory(".hidden/root/\(name)") }
        let links = [
            "keys": ".ssh", ".profile": "music/profile", "out": "..", "tunes": "music",
            ".tunes": "music",
        ]
        for (name, target) in links {
            try FileManager.default.createSymbolicLink(
                atPath: "\(root)/\(name)", withDestinationPath: target)
        }
        try FileManager.default.createSymbolicLink(
            atPath: scratch("served"), withDestinationPath: root)
        for directories in [[root], [scratch("served")], [root + "/", "/nowhere"]] {
            let allowed = AllowedDirectories(directories)
            for root in [root, scratch("served")] {
                for name in [
                    ".profile", ".ssh/authorized_keys", "keys/authorized_keys", ".tunes/a",
                    "a/.config/autostart/x.desktop", "music/.a", "..", "../a", "out/a", "...",
                    ".\u{301}a",
                ] {
                    let error = #expect(throws: LonghaulError.self, "\(name)") {
                        try allowed.check("\(root)/\(name)")
                    }
                    #expect(error?.code == .notPermitted)
                }
                for name in ["a", "a.b", "music/a", "tunes/a", "new/a", "./a", ""] {
                    #expect(throws: Never.self, "\(name)") {
                        try allowed.check("\(root)/\(name)")
                    }
                }
            }
        }
    }

    @Test func aHomeIsNotServedAsAWhole() throws {
        let scratch = try Scratch("served")
        let home = try scratch.directory("home/me")
        _ = try scratch.directory("home/me/work")
        let environment = ["HOME": home]
        func chosen(_ current: String) throws -> String {
            try StartDirectory.choose(from: current, environment: environment)
        }
        try FileManager.default.createSymbolicLink(
            atPath: scratch("me"), withDestinationPath: home)
        for holder in [home, home + "/", scratch("home"), "/", scratch("me")] {
            #expect(try chosen(holder) == home + "/Downloads", "\(holder)")
        }
        var isDirectory: ObjCBool = false
        let isThere = FileManager.default.fileExists(
            atPath: home + "/Downloads", isDirectory: &isDirectory)
        #expect(isThere && isDirectory.boolValue)
        for other in [home + "/work", scratch("home/me2"), scratch("elsewhere")] {
            #expect(try chosen(other) == other)
        }
        // Another name for downloads, as xdg-user-dirs writes it in the user's language.
        _ = try scratch.directory("home/me/.config")
        try scratch.write(
            "# a comment\nXDG_DOWNLOAD_DIR=\"$HOME/T\u{E9}l\u{E9}\"\r\n",
            to: "home/me/.config/user-dirs.dirs")
        #expect(try chosen(home) == home + "/T\u{E9}l\u{E9}")
        try scratch.write(
            "XDG_DOWNLOAD_DIR=\"$HOME/\"\n", to: "home/me/.config/user-dirs.dirs")
        #expect(try chosen(home) == home + "/Downloads")
        try FileManager.default.removeItem(atPath: home + "/Downloads")
        try FileManager.default.createSymbolicLink(
            atPath: home + "/Downloads", withDestinationPath: ".")
        let error = #expect(throws: LonghaulError.self) { try chosen(home) }
        #expect(error?.code == .conflict && error?.message.contains("serve.directories") == true)
    }

    @Test func startedInAHomeItServesTheDownloads() async throws {
        let home = try LonghaulHome()
        let process = try ServedHome.serve(home, ["--listen", "127.0.0.1:0"], in: ".")
        try await process.waitForOutput("serving at")
        #expect(process.errors.contains("files go below \(home.scratch("Downloads"))"))
        #expect(process.errors.contains("every user of this machine"))
        #expect(process.errors.contains("--new-secret"))
        let port = try #require(
            process.errors.split { !$0.isNumber }.last.flatMap { Int($0) })
        let body = #"{"url":"http://127.0.0.1:9/a","destination":"a"}"#
        let client = try Connection(port)
        client.write(
            "POST /v1/transfers HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        let answer = try ServedHome.answer(client.read())
        #expect(answer.status == 201)
        let transfer = try answer.json["transfers"][0]
        #expect(transfer["destination"].string == home.scratch("Downloads/a"))
        process.send(SIGTERM)
        #expect(try await process.wait().status == 0)
    }

    @Test func aSecretIsMade() async throws {
        let home = try LonghaulHome()
        let path = home.scratch(".config/longhaul/secret")
        let made = try await ServedHome.serve(home, ["--new-secret"]).wait()
        #expect(made.status == 0 && made.output == path + "\n", "\(made.errors)")
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.utf8.count == 49)
        let facts = try FileManager.default.attributesOfItem(atPath: path)
        #expect((facts[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        let again = try await ServedHome.serve(home, ["--new-secret"]).wait()
        #expect(again.status == 5 && again.errors.contains(path))
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
        let other = try await ServedHome.serve(
            home, ["--new-secret", "--secret-file", "mine"]
        ).wait()
        #expect(other.output == home.file("mine") + "\n")

        let served = try await ServedHome.start(home, "--secret-file", path)
        #expect(!served.process.errors.contains("every user"))
        #expect(try served.send("GET", "/v1/status").status == 401)
        let field = "Authorization: Bearer \(text.dropLast())"
        #expect(try served.send("GET", "/v1/status", "", [field]).status == 200)
        try await served.stop()
        for mode in [0o640, 0o604, 0o620, 0o666] {
            chmod(path, mode_t(mode))
            let refused = try await ServedHome.serve(home, ["--secret-file", path]).wait()
            #expect(refused.status == 5 && refused.errors.contains("chmod 600 \(path)"))
        }
    }
}
