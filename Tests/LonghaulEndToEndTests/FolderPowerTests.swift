import Foundation
import Glibc
import LonghaulTestSupport
import Testing

/// Watched folders on a disk that loses its power. `scripts/torture --power` cuts it at each system
/// call that changes something.
@Suite(
    .serialized, .timeLimit(.minutes(60)),
    .enabled(if: UploadServer.isInstalled, "skipped: no python3"),
    .enabled(if: OwnDisk.hasLoops, "skipped: no ext4 in a file can be mounted"))
struct FolderPowerTests {
    /// The program that wrote it did not flush it, and the engine has sent it.
    @Test(arguments: [1, 6]) func whatWasSentIsOnTheDisk(count: Int) async throws {
        let (folders, disk) = try await FolderHome.onDisk()
        try await folders.add()
        let names = (1...count).map { "f\($0)" }
        for name in names { try write(text(of: name), to: folders.path(name)) }
        let engine = try folders.home.start("daemon")
        try await folders.awaitRest(count)
        try await cutPower(of: disk, under: engine)
        try await folders.run("run")
        for name in names {
            #expect(
                try String(contentsOfFile: folders.path(name), encoding: .utf8) == text(of: name))
            #expect(folders.text(name) == text(of: name))
        }
        #expect(try folders.arrived == Dictionary(uniqueKeysWithValues: names.map { ($0, 1) }))
        #expect(try await folders.folder["skipped"].int == count)
    }

    /// A transfer that was on its way ends after the cut, and its file is on another device then.
    @Test func whatWasOnItsWayIsDeletedAfterwards() async throws {
        let (folders, disk) = try await FolderHome.onDisk()
        try await folders.add("--after", "delete", query: "?rate=100000")
        try write(text(of: "slow"), to: folders.path("slow"))
        let engine = try folders.home.start("daemon")
        try await eventually("it is on its way") {
            try await folders.run("list", "--json").rows.contains { $0["state"] == "running" }
        }
        let device = try disk.device
        try await cutPower(of: disk, under: engine)
        #expect(try disk.device != device)
        let next = try folders.home.start("daemon")
        try await eventually("it is deleted") { !folders.has("in/slow") }
        #expect(folders.text("slow") == text(of: "slow"))
        next.send(SIGTERM)
        _ = try await next.wait()
    }

    /// Each file that was complete is at the server in the end, and none is gone that was not sent.
    @Test(arguments: ["keep", "delete"]) func cutAnywhere(_ ending: String) async throws {
        let rounds = 4
        let (folders, disk) = try await FolderHome.onDisk()
        var random = SeededRandom.fromEnvironment()
        try await folders.add("--after", ending)
        var names: Set<String> = []
        for round in 0..<rounds {
            for number in 0..<40 {
                let name = "f\(round)-\(number)"
                names.insert(name)
                try write(name, to: folders.path(".\(name)"), flushes: true)
                rename(folders.path(".\(name)"), folders.path(name))
            }
            try write("no", to: folders.path("half\(round).part"))
            try flush(folders.path(""))
            let engine = try await folders.engine(sendingSomeOf: names, &random)
            try await cutPower(of: disk, under: engine)
            for name in names where !folders.has("in/\(name)") {
                #expect(folders.text(name) == name)
            }
        }
        try await folders.run("run")
        try folders.check(names, crashes: rounds)
        #expect(ending == "keep" || !names.contains { folders.has("in/\($0)") })
        let folder = try await folders.folder
        #expect(folder["waiting"] == 0 && folder["failed"] == 0, "\(folder)")
    }

    private func text(of name: String) -> String { String(repeating: name, count: 100_000) }

    /// Foundation would flush it to the disk.
    private func write(_ text: String, to path: String, flushes: Bool = false) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        try #require(Glibc.write(file, text, text.utf8.count) == text.utf8.count)
        if flushes { try #require(fsync(file) == 0) }
    }

    private func flush(_ path: String) throws {
        let directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(directory) }
        try #require(fsync(directory) == 0)
    }

    private func cutPower(of disk: OwnDisk, under engine: CLIProcess) async throws {
        engine.send(SIGSTOP)
        try disk.cutPower()
        engine.send(SIGKILL)
        _ = try await engine.wait()
        try disk.restart()
    }
}
