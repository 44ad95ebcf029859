import Foundation
import LonghaulTestSupport
import Testing

/// Directories whose file systems have other rules for names than Linux: NTFS, and the shorter
/// names of EncFS.
@Suite(.serialized, .timeLimit(.minutes(60))) struct OtherNamesTests {
    private static let ntfs: Comment = "skipped: no NTFS can be mounted"
    private static let encfs: Comment = "skipped: no EncFS can be mounted"
    private let home: LonghaulHome

    init() throws { home = try LonghaulHome() }

    private func mount(_ kind: OtherNamesDisk.Kind) throws -> OtherNamesDisk {
        try OtherNamesDisk(kind, at: home.file("disk"), in: home.scratch)
    }

    /// What the URL, or the server, has chosen is mended.
    @Test(
        .enabled(if: OtherNamesDisk.Kind.ntfs.isPossible, ntfs),
        arguments: [
            ("a%3Ab.bin?", [], "a_b.bin"), ("CON?", [], "CON_"), ("a.%2E?", [], "a__"),
            ("a?disposition=filename%3D%2212%3A30.log%22&", ["--remote-name"], "12_30.log"),
            ("a%3A?disposition=filename%3Daux.c&", ["--remote-name"], "aux_.c"),
        ])
    func aChosenNameIsMended(_ path: String, _ options: [String], _ name: String) async throws {
        let disk = try mount(.ntfs)
        try await LoopbackServer.run { server in
            let url = server.url("\(path)size=100K")
            for policy in ["fail", "rename", "rename"] {
                let get =
                    ["get", "-q", "--on-duplicate", "separate", "--if-exists", policy, url, "-d"]
                    + [disk.path] + options
                let result = try await home.start(get).wait()
                #expect(result.status == 0, "\(result.errors)")
            }
            let names = try disk.names
            #expect(names.count == 3 && names.contains(name), "\(names)")
            try server.expected(url).verify(file: disk.path + "/" + name)
        }
    }

    /// Before anything is fetched, and by its own name.
    @Test(
        .enabled(if: OtherNamesDisk.Kind.ntfs.isPossible, ntfs),
        arguments: ["a:b", "nul.bin", "new/a "])
    func aNameOfTheUsersIsRefused(_ name: String) async throws {
        let disk = try mount(.ntfs)
        let result = try await home.run("get", "http://127.0.0.1:1/f", "-o", "disk/\(name)")
        #expect(result.status == 64, "\(result)")
        #expect(result.errors.contains("no files of the name"), "\(result.errors)")
        #expect(try await home.run("list", "--all", "--json").output == "")
        _ = disk
    }

    /// The disk was another one when it was recorded; `set -o` is the way out.
    @Test(
        .enabled(if: OtherNamesDisk.Kind.ntfs.isPossible, ntfs),
        arguments: ["a:b", "CON"])
    func aNameThatTheDiskRefusesLaterIsNamed(_ name: String) async throws {
        try await LoopbackServer.run { server in
            let url = server.url("f?size=100K")
            _ = try home.scratch.directory("files/disk")
            let added = try await home.run("enqueue", "--no-start", url, "-o", "disk/\(name)")
            #expect(added.status == 0, "\(added.errors)")
            let disk = try mount(.ntfs)
            #expect(try await home.run("run").status == 1)
            let error = try await home.run("show", "1", "--json").rows.first?["error"]
            let message = error?["message"].string ?? ""
            #expect(error?["code"] == "io" && message.contains("/disk/\(name);"), "\(message)")
            #expect(!message.contains("longhaul-part") && server.log.all.isEmpty)
            let refused = try await home.run("set", "1", "-o", "disk/x|y")
            #expect(refused.status == 64, "\(refused)")
            #expect(try await home.run("set", "1", "-o", "disk/ok").status == 0)
            #expect(try await home.run("resume", "--no-start", "1").status == 0)
            #expect(try await home.run("run").status == 0)
            try server.expected(url).verify(file: disk.path + "/ok")
            #expect(try disk.names == ["ok"])
        }
    }

    @Test(.enabled(if: OtherNamesDisk.Kind.encfs.isPossible, encfs))
    func aLongNameIsFetchedWhereItFits() async throws {
        let disk = try mount(.encfs)
        let long = String(repeating: "n", count: 166) + ".bin"
        let more = "abcdefghijklmnopqrst"
        try await LoopbackServer.run { server in
            let url = server.url("f?size=100K")
            #expect(try await home.run("get", "-q", url, "-o", "disk/\(long)").status == 0)
            try server.expected(url).verify(file: disk.path + "/" + long)
            let refused = try await home.run("get", "-q", url, "-o", "disk/\(more)\(long)")
            #expect(refused.status == 64 && refused.errors.contains("too long"), "\(refused)")
            // By the URL.
            let other = server.url("\(more)\(long)?size=100K")
            #expect(try await home.run("get", "-q", other, "-d", "disk").status == 0)
            let short = more + long.prefix(120 - 4 - more.count) + ".bin"
            #expect(try disk.names == [short, long])
        }
    }
}
