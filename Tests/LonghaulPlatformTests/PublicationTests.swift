import Glibc
import LonghaulCore
import Testing

import class LonghaulTestSupport.CLIProcess
import enum LonghaulTestSupport.InstalledProgram

@testable import LonghaulPlatform

@Suite struct PublicationTests {
    private let scratch: Scratch
    private let directory: DirectoryHandle

    init() throws {
        scratch = try Scratch()
        directory = try scratch.directory()
    }

    private func part(_ text: String, id: Int64 = 1) throws -> PartFile {
        let part = try PartFile.create(".a.\(id).longhaul-part", in: directory)
        try put(text, part.descriptor)
        return part
    }

    @Test(arguments: ExistingFilePolicy.allCases)
    func givesAFreeName(policy: ExistingFilePolicy) throws {
        let outcome = Publication.publish(try part("new"), as: "a.bin", policy: policy)
        #expect(outcome == .published(name: "a.bin"))
        #expect(try scratch.names() == ["a.bin"])
        #expect(try scratch.read("a.bin") == "new")
    }

    @Test(arguments: [
        (ExistingFilePolicy.fail, FinishOutcome.occupied, "a.bin", "old"),
        (.skip, .occupied, "a.bin", "old"),
        (.overwrite, .published(name: "a.bin"), "a.bin", "new"),
        (.rename, .occupied, "a.bin", "old"),
    ])
    func meetsAnExistingFile(
        policy: ExistingFilePolicy, expected: FinishOutcome, name: String, text: String
    ) throws {
        try scratch.write("old", to: "a.bin")
        let part = try part("new")
        #expect(Publication.publish(part, as: "a.bin", policy: policy) == expected)
        #expect(try scratch.read(name) == text)
        #expect(scratch.exists(part.name) == (expected == .occupied))
    }

    @Test func takesTheNextFreeNumber() throws {
        for taken in ["a.bin", "a (1).bin", "a (2).bin"] { try scratch.write("old", to: taken) }
        let part = try part("new")
        #expect(Publication.publish(part, as: "a.bin", policy: .rename) == .occupied)
        let next = Publication.freeName(like: "a.bin", in: part.directory)
        #expect(next == "a (3).bin")
        #expect(
            Publication.publish(part, as: next ?? "", policy: .rename)
                == .published(name: "a (3).bin"))
    }

    @Test func neverFollowsALinkAtTheName() throws {
        try scratch.write("precious", to: "victim")
        try #require(symlink("victim", scratch.path("a.bin")) == 0)
        let part = try part("new")
        #expect(Publication.publish(part, as: "a.bin", policy: .fail) == .occupied)
        #expect(
            Publication.publish(part, as: "a.bin", policy: .overwrite) == .published(name: "a.bin"))
        #expect(try scratch.read("victim") == "precious")
        #expect(try scratch.read("a.bin") == "new")
    }

    /// Programs use it: it is no file of anybody's to replace.
    @Test(arguments: ExistingFilePolicy.allCases)
    func neverReplacesAPipe(policy: ExistingFilePolicy) throws {
        try #require(mkfifo(scratch.path("a.bin"), 0o600) == 0)
        let part = try part("new")
        #expect(Publication.publish(part, as: "a.bin", policy: policy) == .occupied)
        #expect(FileInspection.kind(at: scratch.path("a.bin")) == .special)
        #expect(scratch.exists(part.name))
    }

    /// /dev/stdout is such a link: to whoever reads it, it is what it leads to.
    @Test(arguments: ["pipe", "/proc/self/fd/2", "/proc/self/exe", "/dev/full"])
    func neverReplacesALinkToWhatIsNoFile(target: String) throws {
        try #require(mkfifo(scratch.path("pipe"), 0o600) == 0)
        try #require(symlink(target, scratch.path("a.bin")) == 0)
        let part = try part("new")
        #expect(Publication.publish(part, as: "a.bin", policy: .overwrite) == .occupied)
        #expect(FileInspection.kind(at: scratch.path("a.bin")) == .special)
        #expect(scratch.exists(part.name))
    }

    @Test func givesTheModeThatProgramsGive() throws {
        // What the shell's redirection would have made, with this process's umask.
        try #require(close(open(scratch.path("model"), O_WRONLY | O_CREAT, 0o666)) == 0)
        _ = Publication.publish(try part("new"), as: "a.bin", policy: .fail)
        #expect(try scratch.mode("a.bin") == scratch.mode("model"))
    }

    @Test func publishesNothingButItsOwnFile() throws {
        let part = try part("new")
        try #require(unlink(part.path) == 0)
        #expect(Publication.publish(part, as: "a.bin", policy: .overwrite) == .partLost)
        try scratch.write("planted", to: part.name)
        #expect(Publication.publish(part, as: "a.bin", policy: .overwrite) == .partLost)
        #expect(try scratch.names() == [part.name])
    }

    @Test func reportsADirectoryAtTheName() throws {
        try scratch.subdirectory("a.bin")
        let part = try part("new")
        let outcome = Publication.publish(part, as: "a.bin", policy: .overwrite)
        #expect(
            outcome
                == .failed(
                    SystemFailure(
                        operation: "rename", path: scratch.path("a.bin"), errno: EISDIR)))
        #expect(scratch.exists(part.name))
    }

    @Test(arguments: ["../a", "a/b", "", ".."])
    func takesNamesAndNoPaths(name: String) throws {
        guard
            case .failed(let failure) = Publication.publish(try part("x"), as: name, policy: .fail)
        else {
            Issue.record("published")
            return
        }
        #expect(failure.errno == EINVAL)
    }

    /// The newest one replaces the one before.
    @Test func keepsBadBytesOnce() throws {
        for content in ["first", "second", "third"] {
            let path = try Publication.keepBad(try part(content), as: "a.bin")
            #expect(path == scratch.path("a.bin.longhaul-bad"))
        }
        #expect(try scratch.names() == ["a.bin.longhaul-bad"])
        #expect(try scratch.read("a.bin.longhaul-bad") == "third")
    }

    /// What is no file stays, and keeps the name.
    @Test func keepsBadBytesBesideADirectory() throws {
        #expect(mkdir(scratch.path("a.bin.longhaul-bad"), 0o755) == 0)
        let path = try Publication.keepBad(try part("x"), as: "a.bin")
        #expect(path == scratch.path("a.bin.longhaul-bad.2"))
        #expect(BadFile.isName(path))
    }

    /// Killed between the two, or not.
    @Test func takesBadBytesBackThatAreItsOwn() throws {
        let others = try part("another's")
        _ = try Publication.keepBad(others, as: "a.bin")
        let mine = try part("mine")
        let left = OrphanedPart(path: mine.path, identity: mine.identity)
        Publication.takeBack(left, movedAsideAs: "a.bin", in: mine.directory)
        _ = try Publication.keepBad(mine, as: "a.bin")
        #expect(try scratch.names() == ["a.bin.longhaul-bad"])
        Publication.takeBack(left, movedAsideAs: "a.bin", in: mine.directory)
        #expect(try scratch.names() == [mine.name])
        #expect(try scratch.read(mine.name) == "mine")
    }

    @Test(.enabled(if: InstalledProgram.find("setfacl") != nil, "skipped: no setfacl"))
    func grantsWhatTheDefaultACLOfTheDirectoryDoes() async throws {
        let acls = [
            ("u::rw,g:1:rwx,g::---,o::---", 0o660), ("u::rwx,g::r-x,o::---", 0o640),
            ("u::rwx,g::rwx,g:1:rwx,m::r-x,o::r-x", 0o644),
        ]
        for (index, (acl, mode)) in acls.enumerated() {
            let path = try scratch.subdirectory("d\(index)")
            let setting = try await CLIProcess.run(
                try #require(InstalledProgram.find("setfacl")), ["-d", "-m", acl, path])
            try #require(setting.status == 0, "\(setting.errors)")
            let part = try PartFile.create(".a", in: DirectoryHandle(opening: path))
            #expect(
                Publication.publish(part, as: "a", policy: .fail) == .published(name: "a"))
            #expect(try Int(scratch.mode("d\(index)/a")) == mode, "\(acl)")
        }
    }

    // MARK: - File systems without RENAME_NOREPLACE

    @Test func linksWhereNamesCannotBeClaimed() throws {
        let part = try part("new")
        #expect(try Publication.claimByLink(part, "a.bin"))
        #expect(try scratch.names() == ["a.bin"])
        let second = try self.part("second", id: 2)
        #expect(try !Publication.claimByLink(second, "a.bin"))
        #expect(try scratch.read("a.bin") == "new")
    }

    @Test func looksWhereThereAreNoLinksEither() throws {
        let part = try part("new")
        #expect(try Publication.claimByLooking(part, "a.bin"))
        let second = try self.part("second", id: 2)
        #expect(try !Publication.claimByLooking(second, "a.bin"))
        #expect(try scratch.read("a.bin") == "new")
    }

    // MARK: - Batches

    @Test(arguments: [1, 3, 4, 40])
    func finishesABatchInOrder(count: Int) throws {
        let other = try DirectoryHandle(opening: scratch.subdirectory("other"))
        try scratch.write("old", to: "f0")
        let items = try (0..<count).map { number in
            let part = try PartFile.create(
                ".f.\(number).longhaul-part",
                in: number.isMultiple(of: 2) ? directory : other)
            try put("content \(number)", part.descriptor)
            return FinishItem(part: part, name: "f\(number)", policy: .fail)
        }
        #expect(GroupCommit.makeDurable(items).allSatisfy { $0 == nil })
        let outcomes = GroupCommit.publish(items)
        #expect(outcomes.first == .occupied)
        for number in 1..<max(count, 1) {
            #expect(outcomes[number] == .published(name: "f\(number)"))
            let place = number.isMultiple(of: 2) ? "f\(number)" : "other/f\(number)"
            #expect(try scratch.read(place) == "content \(number)")
        }
    }

    @Test(.enabled(if: SmallDisk.isPossible, "needs the right to mount"))
    func finishesABatchOnTwoFileSystems() throws {
        let disk = try SmallDisk(bytes: 1 << 20)
        let there = try DirectoryHandle(opening: disk.path)
        let items = try (1...6).map { number in
            FinishItem(
                part: try PartFile.create(
                    ".\(number)", in: number.isMultiple(of: 2) ? directory : there),
                name: "f\(number)", policy: .fail)
        }
        #expect(GroupCommit.makeDurable(items) == [nil, nil, nil, nil, nil, nil])
        #expect(GroupCommit.publish(items) == (1...6).map { .published(name: "f\($0)") })
    }

    @Test(.enabled(if: SmallDisk.isPossible, "needs the right to mount"))
    func reportsAFileSystemThatWentReadOnly() throws {
        let disk = try SmallDisk(bytes: 1 << 20)
        // A descriptor open for writing would keep the file system from going read-only.
        let directory = try DirectoryHandle(opening: disk.path)
        try disk.makeReadOnly()
        let failure = #expect(throws: SystemFailure.self) {
            _ = try PartFile.create(".a", in: directory)
        }
        #expect(failure?.errno == EROFS)
        #expect(failure?.longhaulError().code == .permission)
    }
}
