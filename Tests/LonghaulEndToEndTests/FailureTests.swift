import Foundation
import LonghaulTestSupport
import Testing

/// A machine that fails: full disk, read-only places, a store that cannot be used. A clear error,
/// the right exit code, bytes and queue kept, and on it goes when mended.
@Suite(.timeLimit(.minutes(3))) struct FailureTests {
    private static let isRoot = geteuid() == 0

    @Test(.enabled(if: isRoot, "skipped: mounting a tmpfs needs root"))
    func aFullDiskFailsGetAndKeepsTheBytes() async throws {
        let home = try LonghaulHome()
        let mount = try TinyDisk(home.scratch("tiny"), size: "4m")
        defer { mount.unmount() }
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=6M&etag=v1&nolength")
            let file = home.scratch("tiny/a.bin")
            let result = try await home.run("get", "--json", url, "-o", file)
            #expect(result.status == 1)
            let transfer = try #require(try result.rows.last)
            #expect(transfer["error"]["code"] == "noSpace")
            let kept = try #require(transfer["error"]["bytesKept"].int)
            #expect(kept > 2 << 20)
            try mount.grow(to: "16m")
            #expect(try await home.run("resume", "1").status == 0)
            #expect(try await home.run("run").status == 0)
            try server.expected(url).verify(file: file)
        }
    }

    @Test(.enabled(if: isRoot, "skipped: mounting a tmpfs needs root"))
    func aReadOnlyPlaceIsRefused() async throws {
        let home = try LonghaulHome()
        let mount = try TinyDisk(home.scratch("tiny"), size: "1m,ro")
        defer { mount.unmount() }
        let result = try await home.run(
            "enqueue", "--json", "http://127.0.0.1:1/a", "-o", home.scratch("tiny/a"))
        #expect(result.status == 5)
        #expect(try result.rows.last?["error"]["code"] == "permission")
    }

    @Test func whatExistsIsNotReplaced() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=10K")
            let file = home.file("a.bin")
            try Data("mine".utf8).write(to: URL(fileURLWithPath: file))
            #expect(try await home.run("get", "-q", url, "-o", file).status == 5)
            #expect(
                try await home.run("get", "-q", url, "-o", file, "--if-exists", "skip").status == 0)
            #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == Data("mine".utf8))
            let renamed = try await home.run("get", "-q", url, "-o", file, "--if-exists", "rename")
            #expect(renamed.output.contains("a (1).bin"))
            let replaced = try await home.run(
                "get", "-q", url, "-o", file, "--if-exists", "overwrite")
            #expect(replaced.status == 0)
            try server.expected(url).verify(file: file)
        }
    }

    @Test func credentialsStayWithTheirOrigin() async throws {
        let home = try LonghaulHome()
        try await LoopbackServer.run { other in
            try await LoopbackServer.run { server in
                let target = other.url("b.bin?size=10K")
                let url = server.url(
                    "a.bin?redirect=\(PercentCoding.encode(target))")
                let result = try await home.run(
                    "get", "-q", url, "-o", home.file("a.bin"), "--user", "me:secret", "--header",
                    "X-Key: secret")
                #expect(result.status == 0, "\(result.errors)")
                #expect(server.log.all.first?["Authorization"] != nil)
                #expect(server.log.all.first?["X-Key"] == "secret")
                #expect(other.log.all.count == 1)
                #expect(other.log.all.first?["Authorization"] == nil)
                #expect(other.log.all.first?["X-Key"] == nil)
            }
        }
    }

    @Test func aStoreThatIsNoStore() async throws {
        let home = try LonghaulHome()
        #expect(try await home.run("enqueue", "http://127.0.0.1:1/a").status == 0)
        let store = home.state + "/queue.sqlite"
        let handle = try #require(FileHandle(forWritingAtPath: store))
        // PRAGMA user_version stands at offset 60 of the file, big-endian.
        try handle.seek(toOffset: 60)
        try handle.write(contentsOf: Data([0, 0, 255, 255]))
        try handle.close()
        try? FileManager.default.removeItem(atPath: store + "-wal")
        try? FileManager.default.removeItem(atPath: store + "-shm")
        let result = try await home.run("list", "--json")
        #expect(result.status == 73, "\(result.output)")
        #expect(result.output.contains("storeUnavailable"))
    }
}

/// A file system of a few megabytes.
private struct TinyDisk {
    let path: String

    init(_ path: String, size: String) throws {
        self.path = path
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
        try run("mount", "-t", "tmpfs", "-o", "size=\(size)", "tmpfs", path)
    }

    func grow(to size: String) throws {
        try run("mount", "-o", "remount,size=\(size)", path)
    }

    func unmount() {
        try? run("umount", "-l", path)
    }

    private func run(_ arguments: String...) throws {
        let process = try Process.run(
            URL(fileURLWithPath: "/usr/bin/env"), arguments: arguments)
        process.waitUntilExit()
        if process.terminationStatus != 0 { throw CocoaError(.fileWriteUnknown) }
    }
}
