import Foundation
import LonghaulTestSupport
import Testing

/// Btrfs takes another block for each page that is written again, which a full disk has not got:
/// memory shared through a file of it is no memory.
@Suite(
    .serialized, .timeLimit(.minutes(60)),
    .enabled(if: OwnDisk.hasBtrfs, "skipped: no Btrfs in a file can be mounted"))
struct FullBtrfsTests {
    @Test(arguments: [false, true]) func isOutlived(isOfOldMaking: Bool) async throws {
        let home = try LonghaulHome()
        let disk = try OwnDisk(btrfs: 128 << 20, at: home.state)
        // Seconds; it gives blocks back when it commits, which is every half minute else.
        try disk.remount("commit=1")
        #expect(chmod(home.state, 0o700) == 0)
        if isOfOldMaking { try home.scratch.write(Data(count: 128 << 10), to: "state/progress") }
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=300M&seed=5&nolength&etag=v1")
            let result = try await home.run(
                "get", "--json", url, "-o", home.state + "/files/a.bin")
            #expect(result.status == 1, "\(result.errors)")
            #expect(try result.rows.last?["error"]["code"] == "noSpace")
            var said = ""
            try await eventually("there is room for the store's log: \(said)") {
                let list = try await home.run("list")
                said = list.errors
                return list.status == 0
            }
            #expect(unlink(home.state + "/files/.a.bin.1.longhaul-part") == 0)
            try await eventually("there is room for a record") {
                try await home.run("remove", "1").status == 0
            }
        }
        disk.unmount()
    }
}

/// The store and what is downloaded are on one disk, and it has not the room.
@Suite(
    .serialized, .timeLimit(.minutes(60)),
    .enabled(if: OwnDisk.hasLoops, "skipped: no ext4 in a file can be mounted"))
struct FullDiskTests {
    private let home: LonghaulHome
    private let disk: OwnDisk

    init() throws {
        home = try LonghaulHome()
        disk = try OwnDisk(ext4: 64 << 20, at: home.state, in: home.scratch)
        #expect(chmod(home.state, 0o700) == 0)
    }

    private func place(_ name: String) -> String { home.state + "/files/" + name }

    private var free: Int {
        var facts = statvfs()
        statvfs(home.state, &facts)
        return Int(facts.f_bavail) * Int(facts.f_frsize)
    }

    private func shown(_ id: Int = 1) async throws -> JSONValue {
        try #require(try await home.run("show", String(id), "--json").rows.first)
    }

    // MARK: - What cannot fit

    @Test func whatCannotFitTakesNothing() async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=200M&seed=5")
            let result = try await home.run(
                "get", "--json", url, "-o", place("a.bin"), "--connections", "1")
            #expect(result.status == 1, "\(result.errors)")
            #expect(try result.rows.last?["error"]["code"] == "noSpace")
            #expect(free > 40 << 20)
        }
        disk.unmount()
    }

    @Test func whatWaitsForRoomTakesNoneFromOthers() async throws {
        try await LoopbackServer.run { server in
            let daemon = try home.start("daemon")
            let large = server.url("a.bin?size=200M&seed=5")
            _ = try await home.run("enqueue", large, "-o", place("a.bin"))
            try await eventually("it waits") {
                try await shown()["waitingFor"].items.first?["reason"] == "storage"
            }
            #expect(free > 30 << 20)
            let small = server.url("b.bin?size=20M&seed=6")
            let get = try await home.run("get", "-q", small, "-o", place("b.bin"))
            #expect(get.status == 0, "\(get.errors)")
            #expect(try await home.run("cancel", "1").status == 0)
            daemon.send(SIGTERM)
            #expect(try await daemon.wait().status == 0)
        }
        disk.unmount()
    }

    @Test func ofManyThoseThatFitAreFetched() async throws {
        try await LoopbackServer.run { server in
            let urls = (0..<9).map { server.url("f\($0)?seed=\($0)&size=9M&etag=v") }
            let added = try await home.run(
                "enqueue", "--input", "-", "-d", home.state + "/files",
                input: urls.joined(separator: "\n"))
            #expect(added.status == 0, "\(added.errors)")
            #expect(try await home.run("run", "--max-time", "8s").status == 0)
            let states = try await home.run("list", "--json").rows.map { $0["state"].string }
            let completed = states.count { $0 == "completed" }
            #expect(completed >= 4, "\(states)")
            #expect(states.count { $0 == "waiting" } == 9 - completed, "\(states)")
        }
        disk.unmount()
    }

    // MARK: - What shows while it is written

    @Test func aDiskThatFillsUpIsRecorded() async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=200M&seed=5&nolength&etag=v1")
            let result = try await home.run("get", "--json", url, "-o", place("a.bin"))
            #expect(result.status == 1, "\(result.errors)")
            let error = try #require(try result.rows.last?["error"])
            #expect(error["code"] == "noSpace" && error["bytesKept"].int ?? 0 > 40 << 20)
            #expect(try await home.run("remove", "1").status == 0)
            #expect(free > 40 << 20)
        }
        disk.unmount()
    }

    @Test func anEngineOutlivesAFullDisk() async throws {
        try await LoopbackServer.run { server in
            let daemon = try home.start("daemon")
            let urls = (0..<3).map { server.url("f\($0)?seed=\($0)&size=200M&nolength&etag=v1") }
            let added = try await home.run(
                "enqueue", "--input", "-", "-d", home.state + "/files",
                input: urls.joined(separator: "\n"))
            #expect(added.status == 0, "\(added.errors)")
            try await eventually("all wait") {
                try await home.run("list", "--json").rows.allSatisfy {
                    $0["waitingFor"].items.first?["reason"] == "storage"
                }
            }
            #expect(try await home.run("cancel", "--all").status == 0)
            try await eventually("there is room") { free > 30 << 20 }
            let small = server.url("b.bin?size=20M&seed=6")
            let get = try await home.run("get", "-q", small, "-o", place("b.bin"))
            #expect(get.status == 0, "\(get.errors)")
            daemon.send(SIGTERM)
            #expect(try await daemon.wait().status == 0)
        }
        disk.unmount()
    }

    // MARK: - What others fill

    /// Every block that is free.
    private func fill() throws {
        let path = place("others")
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        for size in [1 << 20, 512] {
            let bytes = [UInt8](repeating: 1, count: size)
            while write(descriptor, bytes, size) > 0 {}
        }
        #expect(fsync(descriptor) == 0 && free == 0)
    }

    /// To the last block, so that not even the store's log can be made: what there is is seen all
    /// the same, more than once, and removing makes room.
    @Test(arguments: [false, true]) func seesAndRemovesOnAFullDisk(afterAKill: Bool) async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=20M&seed=5&etag=v1&stall=9M&stalls=1")
            let get = try home.start(
                "get", "--json", url, "-o", place("a.bin"), "--connections", "1")
            try await eventually("bytes") { try await shown()["bytesDone"].int ?? 0 > 0 }
            get.send(afterAKill ? SIGKILL : SIGINT)
            _ = try await get.wait()
            for _ in 0..<3 {
                try fill()
                let list = try await home.run("list")
                #expect(list.status == 0, "\(list.errors)")
                #expect(try await shown()["bytesDone"].int ?? 0 > 0)
            }
            let cancel = try await home.run("cancel", "1")
            #expect(cancel.status == 0, "\(cancel.errors)")
            try await eventually("it has ended") { try await shown()["state"] == "cancelled" }
            let remove = try await home.run("remove", "1")
            #expect(remove.status == 0, "\(remove.errors)")
            #expect(free > 15 << 20)
        }
        disk.unmount()
    }

    // MARK: - What is set aside already

    /// More is to come than is free, and that is what was set aside for it.
    @Test func whatIsSetAsideIsNotAskedForTwice() async throws {
        try await LoopbackServer.run { server in
            let url = server.url("a.bin?size=40M&seed=5&etag=v1&stall=9M&stalls=1")
            let get = try home.start(
                "get", "--json", url, "-o", place("a.bin"), "--connections", "1")
            let part = home.state + "/files/.a.bin.1.longhaul-part"
            try await eventually("a checkpoint") {
                try await shown()["bytesDone"].int ?? 0 >= 8 << 20
            }
            get.send(SIGKILL)
            _ = try await get.wait()
            #expect(free < 25 << 20 && access(part, F_OK) == 0)
            #expect(try await home.run("run", "--max-time", "20s").status == 0)
            try server.expected(url).verify(file: place("a.bin"))
        }
        disk.unmount()
    }
}
