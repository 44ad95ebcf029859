import Glibc
import Testing

@testable import LonghaulPlatform

@Suite struct BoundedLogTests {
    private let scratch: Scratch
    private let path: String

    init() throws {
        scratch = try Scratch()
        path = scratch.path("log")
    }

    /// One process that writes to the log.
    private final class Writer {
        let descriptor: Int32
        private var log: BoundedLog

        init(_ path: String, lookEvery: Int = 64 << 10) throws {
            let file = try #require(BoundedLog.open(path, bytesMax: 1000))
            descriptor = fcntl(file.number, F_DUPFD_CLOEXEC, 0)
            log = BoundedLog(
                path, descriptors: [descriptor], bytesMax: 1000, lookEvery: lookEvery)
        }

        deinit { close(descriptor) }

        func write(_ number: Int) throws {
            let line = "line \(number)\n"
            log.makeRoom(for: line.utf8.count)
            try put(line, descriptor)
        }
    }

    private func numbers(_ name: String) throws -> [Int] {
        try scratch.read(name).split(separator: "\n").map {
            try #require($0.hasPrefix("line ") ? Int($0.dropFirst(5)) : nil)
        }
    }

    @Test func staysSmallAndKeepsTheLastLines() throws {
        let writer = try Writer(path)
        for number in 1...1000 {
            try writer.write(number)
            #expect(try scratch.read("log").utf8.count <= 1000)
        }
        let (old, new) = (try numbers("log.1"), try numbers("log"))
        #expect(old + new == Array((1001 - old.count - new.count)...1000))
        // As many as there is room for.
        #expect(try scratch.read("log.1").utf8.count > 980)
        #expect(try scratch.names() == ["log", "log.1"])
        #expect(try scratch.mode("log") == 0o600)
    }

    @Test func severalWritersLoseNoLine() throws {
        let writers = try (0..<3).map { _ in try Writer(path, lookEvery: 1) }
        var seen = Set<Int>()
        for number in 0..<1000 {
            try writers[(number * number) % 3].write(number)
            seen.formUnion(try numbers("log") + (scratch.exists("log.1") ? numbers("log.1") : []))
            try #require(seen.count == number + 1)
        }
        #expect(try scratch.read("log.1").utf8.count > 950)
        #expect(try scratch.read("log.1").utf8.count <= 1000)
    }

    @Test func aFullOneIsMovedWhenItIsOpened() throws {
        try scratch.write(String(repeating: "x", count: 1000), to: "log")
        try scratch.write("older", to: "log.1")
        try Writer(path).write(1)
        #expect(try scratch.read("log") == "line 1\n")
        #expect(try scratch.read("log.1").utf8.count == 1000)
        try Writer(path).write(2)
        #expect(try numbers("log") == [1, 2])
    }

    /// Killed between the two steps of making room.
    @Test func whatIsMissingIsMade() throws {
        let writer = try Writer(path, lookEvery: 1)
        try writer.write(1)
        try #require(rename(path, path + ".1") == 0)
        try Writer(path).write(2)
        try writer.write(3)
        #expect(try numbers("log.1") == [1])
        #expect(try numbers("log") == [2, 3])
    }

    @Test func whereNoRoomCanBeMadeItGrowsOn() throws {
        try scratch.subdirectory("log.1")
        try scratch.write("", to: "log.1/in use")
        let writer = try Writer(path, lookEvery: 1)
        for number in 1...300 { try writer.write(number) }
        #expect(try numbers("log") == Array(1...300))
    }

    @Test func knowsWhatLeadsToIt() throws {
        try scratch.write("", to: "other")
        let file = open(path, O_WRONLY | O_CREAT, 0o600)
        let other = open(scratch.path("other"), O_WRONLY)
        defer { for descriptor in [file, other] { close(descriptor) } }
        #expect(BoundedLog.leading(to: path, of: [other, file, -1]) == [file])
        try #require(rename(path, path + ".1") == 0)
        #expect(BoundedLog.leading(to: path, of: [other, file]) == [file])
        #expect(BoundedLog.leading(to: scratch.path("none"), of: [file]).isEmpty)
    }
}
