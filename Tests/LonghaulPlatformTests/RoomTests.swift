import Glibc
import LonghaulCore
import LonghaulTestSupport
import Testing

@testable import LonghaulPlatform

/// What is set aside on a disk.
@Suite struct RoomTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// ext4 takes piece after piece until nothing is left.
    @Test(.enabled(if: OwnDisk.hasLoops, "skipped: no ext4 in a file can be mounted"))
    func roomThatIsNotThereIsNotTaken() throws {
        let disk = try OwnDisk(ext4: 16 << 20, at: scratch.path("disk"))
        let part = try PartFile.create(
            ".a.1.longhaul-part", in: DirectoryHandle(opening: disk.path))
        try #require(write(part.descriptor, "data", 4) == 4)
        #expect(throws: (any Error).self) { try part.preallocate(64 << 20) }
        #expect(try part.allocated() < 1 << 20)
        try part.preallocate(4 << 20)
        #expect(try part.allocated() >= 4 << 20)
        try part.giveBack()
        #expect(try part.allocated() < 1 << 20)
        let tooLong = #expect(throws: (any Error).self) { try part.preallocate(.max) }
        #expect(String(describing: tooLong).contains("File too large"))
        #expect(try part.read(at: 0, count: 9) == Array("data".utf8))
    }

    @Test func aLogHasRoomToGrow() throws {
        try scratch.write("log", to: "log")
        var room = WALReserve(ofLog: scratch.path("log"))
        room.keep()
        var facts = stat()
        try #require(stat(scratch.path("log"), &facts) == 0)
        #expect(facts.st_size == 3 && facts.st_blocks * 512 >= Limits.wALReserveBytes)
        try #require(truncate(scratch.path("log"), 3 << 20) == 0)
        room.keep()
        try #require(stat(scratch.path("log"), &facts) == 0)
        #expect(facts.st_blocks * 512 >= 3 << 20 + Limits.wALReserveBytes)
    }
}
