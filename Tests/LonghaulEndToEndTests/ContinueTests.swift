import Foundation
import LonghaulTestSupport
import Testing

/// `get --continue`: what another program has left of a file is gone on with, or stays as it is.
@Suite struct ContinueTests {
    private static let url = "a.bin?size=1M&seed=5&etag=v1"

    private let home: LonghaulHome

    init() throws {
        home = try LonghaulHome()
    }

    private var file: String { home.file("a.bin") }

    private func contents() -> Data? { FileManager.default.contents(atPath: file) }

    private func leave(_ size: Int, seed: Int = 5) throws -> Data {
        try Representation(size: 1 << 20, seed: UInt64(seed)).write(to: file)
        #expect(truncate(file, size) == 0)
        return try #require(contents())
    }

    private func shown() async throws -> JSONValue {
        try #require(try await home.run("show", "1", "--json").rows.first)
    }

    @Test(arguments: [1, 65_536, 65_537, 700_000, 1 << 20]) func aPartIsGoneOnWith(
        size: Int
    ) async throws {
        try await LoopbackServer.run { server in
            let url = server.url(Self.url)
            _ = try leave(size)
            let result = try await home.run("get", "-q", "--continue", url, "-o", "a.bin")
            #expect(result.status == 0, "\(result.errors)")
            try server.expected(url).verify(file: file)
            #expect(server.log.all.first?["Range"] == "bytes=\(max(0, size - 65_536))-")
            let left = try FileManager.default.contentsOfDirectory(atPath: home.scratch("files"))
            #expect(left == ["a.bin"])
        }
    }

    @Test func withoutAPartItIsADownload() async throws {
        try await LoopbackServer.run { server in
            let url = server.url(Self.url)
            let result = try await home.run("get", "-q", "--continue", url, "-o", "a.bin")
            #expect(result.status == 0, "\(result.errors)")
            try server.expected(url).verify(file: file)
        }
    }

    /// Another file, another length, a server without parts: nothing is lost.
    @Test(arguments: [
        (700_000, 6, "", "last bytes"), (900_000, 5, "&size=800000", "longer"),
        (900_000, 5, "&size=870000", "longer"), (700_000, 5, "&noranges", "no parts"),
        (700_000, 5, "&ignorerange", "no parts"), (700_000, 5, "&rangestatus=400", "(400)"),
    ]) func whatIsNotProvenStays(
        size: Int, seed: Int, knobs: String, why: String
    ) async throws {
        try await LoopbackServer.run { server in
            let query =
                knobs.hasPrefix("&size") ? "seed=5&etag=v1\(knobs)" : "size=1M&seed=5\(knobs)"
            let before = try leave(size, seed: seed)
            let result = try await home.run(
                "get", "-q", "--continue", server.url("a.bin?\(query)"), "-o", "a.bin")
            #expect(result.status == 1 && result.errors.contains(why), "\(result.errors)")
            #expect(contents() == before)
            if why != "(400)" {
                #expect(try await shown()["error"]["code"] == "destinationExists")
            }
            let left = try FileManager.default.contentsOfDirectory(atPath: home.scratch("files"))
            #expect(left == ["a.bin"])
        }
    }

    /// The end is the same, and the beginning is not: only a digest tells.
    @Test func aDigestDecides() async throws {
        try await LoopbackServer.run { server in
            let url = server.url(Self.url)
            var before = try leave(700_000)
            before[0] ^= 1
            try before.write(to: URL(fileURLWithPath: file))
            let digest = String(repeating: "0", count: 64)
            let result = try await home.run(
                "get", "-q", "--continue", "--checksum", "sha256:\(digest)", url, "-o", "a.bin")
            #expect(result.status == 1, "\(result.errors)")
            #expect(contents() == before)
            #expect(try await shown()["error"]["code"] == "checksumMismatch")
        }
    }

    /// What another program has made of the file meanwhile is not replaced. The same command again
    /// begins with what is there then.
    @Test func aFileThatIsChangedMeanwhileStays() async throws {
        try await LoopbackServer.run { server in
            let url = server.url(Self.url)
            _ = try leave(700_000)
            let added = try await home.run("enqueue", "--continue", url, "-o", "a.bin")
            #expect(added.status == 0, "\(added.errors)")
            let changed = try leave(800_000)
            _ = try await home.run("run")
            #expect(contents() == changed)
            #expect(try await shown()["error"]["code"] == "destinationExists")
            let again = try await home.run("get", "-q", "--continue", url, "-o", "a.bin")
            #expect(again.status == 0, "\(again.errors)")
            try server.expected(url).verify(file: file)
        }
    }

    /// Other programs leave holes where bytes are missing, or zeros; a server's error may stand at
    /// the end. What is before them is kept.
    @Test(arguments: ["hole", "hole at the end", "zeros", "zeros at the end", "page"])
    func whatIsBadIsFetchedAgain(_ kind: String) async throws {
        try await LoopbackServer.run { server in
            let url = server.url(Self.url)
            let good = Array(try leave(900_000))
            switch kind {
            case "hole", "hole at the end":
                #expect(truncate(file, 0) == 0 && truncate(file, 900_000) == 0)
                let handle = try #require(FileHandle(forWritingAtPath: file))
                try handle.write(contentsOf: good[..<300_000])
                if kind == "hole" {
                    try handle.seek(toOffset: 600_000)
                    try handle.write(contentsOf: good[600_000...])
                }
                try handle.close()
            case "zeros":
                var bytes = good
                for index in 300_000..<600_000 { bytes[index] = 0 }
                try Data(bytes).write(to: URL(fileURLWithPath: file))
            case "zeros at the end":
                try Data(good[..<700_000] + [UInt8](repeating: 0, count: 65_536))
                    .write(to: URL(fileURLWithPath: file))
            default:
                try Data(good[..<700_000] + Array("<title>502 Bad Gateway</title>".utf8))
                    .write(to: URL(fileURLWithPath: file))
            }
            let result = try await home.run("get", "-q", "--continue", url, "-o", "a.bin")
            #expect(result.status == 0, "\(result.errors)")
            try server.expected(url).verify(file: file)
            #expect(server.log.all.allSatisfy { $0["Range"] != nil })
        }
    }

    @Test(arguments: [".aria2", ".st"]) func anotherProgramsRecordIsRespected(
        suffix: String
    ) async throws {
        try await LoopbackServer.run { server in
            let before = try leave(900_000)
            try Data("x".utf8).write(to: URL(fileURLWithPath: file + suffix))
            let result = try await home.run(
                "get", "-q", "--continue", server.url(Self.url), "-o", "a.bin")
            #expect(result.status != 0 && result.errors.contains("a.bin\(suffix)"))
            #expect(contents() == before && server.log.count == 0)
        }
    }

    /// The server breaks off, once before and once after the proof.
    @Test(arguments: ["status=503&statuses=1", "cut=100K&cuts=1"]) func aBreakCostsNothing(
        knob: String
    ) async throws {
        try await LoopbackServer.run { server in
            let url = server.url("\(Self.url)&\(knob)")
            _ = try leave(700_000)
            let result = try await home.run("get", "-q", "--continue", url, "-o", "a.bin")
            #expect(result.status == 0, "\(result.errors)")
            try server.expected(url).verify(file: file)
            #expect(server.log.all.allSatisfy { $0["Range"] != nil })
        }
    }
}
