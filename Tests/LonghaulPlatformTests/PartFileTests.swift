import Glibc
import LonghaulCore
import Testing

@testable import LonghaulPlatform

@Suite struct PartFileTests {
    private let scratch: Scratch
    private let directory: DirectoryHandle
    private let name = ".a.1.longhaul-part"

    init() throws {
        scratch = try Scratch()
        directory = try scratch.directory()
    }

    // MARK: - Creating

    @Test func createsAFileForItsOwnerAlone() throws {
        let part = try PartFile.create(name, in: directory)
        #expect(try scratch.mode(name) == 0o600)
        #expect(try part.size() == 0)
        #expect(part.path == scratch.path(name))
        #expect(try part.identity == identity(part.path))
    }

    @Test func doesNotHandItsDescriptorToPrograms() throws {
        let part = try PartFile.create(name, in: directory)
        #expect(fcntl(part.descriptor, F_GETFD) & FD_CLOEXEC != 0)
    }

    @Test func replacesALeftoverOfItsName() throws {
        try scratch.write("left by nobody the store knows", to: name)
        let part = try PartFile.create(name, in: directory)
        #expect(try part.size() == 0)
        #expect(try scratch.mode(name) == 0o600)
    }

    /// Another store's transfers have the same numbers: what was not recorded is empty.
    @Test func leavesWhatMayBeAnothersAlone() throws {
        let names = PartNames(for: "a", id: 1, store: "0123456789")
        #expect(names[0].text == name)
        try scratch.write("", to: name)
        let first = try PartFile.create(names, in: directory)
        #expect(first.name == name)
        // Empty, but in use.
        #expect(try PartFile.create(names, in: directory).name == names[1].text)
        try put("theirs", first.descriptor)
        try #require(rename(scratch.path(name), scratch.path("moved")) == 0)
        try scratch.write("theirs", to: name)
        // A name of the store's own is made free.
        try scratch.write("ours", to: names[1].text)
        let second = try PartFile.create(names, in: directory)
        #expect(second.name == names[1].text)
        #expect(try PartFile.create(names, in: directory).name == names[2].text)
        #expect(try scratch.read(name) == "theirs")
    }

    /// A crash came before it was recorded: it is known by its age.
    @Test(arguments: [-10.0, 10]) func knowsWhatACrashHasLeft(_ seconds: Double) throws {
        let names = PartNames(for: "a", id: 1, store: "0123456789")
        try scratch.write("left", to: name)
        let since = SystemClock.now().wall + seconds
        let part = try PartFile.create(names, in: directory, leftSince: since)
        #expect(part.name == (seconds < 0 ? name : names[1].text))
    }

    @Test func discardsItsOwnFileOnly() throws {
        let part = try PartFile.create(name, in: directory)
        let left = OrphanedPart(path: part.path, identity: part.identity)
        try #require(rename(scratch.path(name), scratch.path("moved")) == 0)
        try scratch.write("theirs", to: name)
        PartFile.discard(left)
        #expect(try scratch.read(name) == "theirs")
        try #require(rename(scratch.path("moved"), scratch.path(name)) == 0)
        PartFile.discard(left)
        #expect(try scratch.names() == [])
    }

    @Test func neverWritesThroughALinkPutInItsPlace() throws {
        let victim = try scratch.write("precious", to: "victim")
        try #require(symlink(victim, scratch.path(name)) == 0)
        let failure = #expect(throws: SystemFailure.self) {
            _ = try PartFile.create(name, in: directory)
        }
        #expect(failure?.errno == EEXIST)
        #expect(try scratch.read("victim") == "precious")
    }

    @Test func neverWritesIntoAFileThatHasASecondName() throws {
        try scratch.write("precious", to: "victim")
        try #require(link(scratch.path("victim"), scratch.path(name)) == 0)
        let part = try PartFile.create(name, in: directory)
        try put("overwritten", part.descriptor)
        #expect(try scratch.read("victim") == "precious")
    }

    @Test func reportsADirectoryInItsPlace() throws {
        try scratch.subdirectory(name)
        let failure = #expect(throws: SystemFailure.self) {
            _ = try PartFile.create(name, in: directory)
        }
        #expect(failure?.errno == EEXIST)
    }

    @Test(arguments: ["../evil", "a/b", "", ".", "..", "a\0b"])
    func takesNamesAndNoPaths(name: String) throws {
        let failure = #expect(throws: SystemFailure.self) {
            _ = try PartFile.create(name, in: directory)
        }
        #expect(failure?.errno == EINVAL)
    }

    @Test func reportsADirectoryThatIsGone() throws {
        let gone = try DirectoryHandle(opening: scratch.subdirectory("gone"))
        try #require(rmdir(scratch.path("gone")) == 0)
        let failure = #expect(throws: SystemFailure.self) {
            _ = try PartFile.create(name, in: gone)
        }
        #expect(failure?.errno == ENOENT)
    }

    @Test(.enabled(if: !isRoot, "root may write anywhere"))
    func reportsADirectoryThatMayNotBeWritten() throws {
        let locked = try scratch.subdirectory("locked")
        chmod(locked, 0o500)
        defer { chmod(locked, 0o700) }
        let failure = #expect(throws: SystemFailure.self) {
            _ = try PartFile.create(name, in: DirectoryHandle(opening: locked))
        }
        #expect(failure?.code == .permission)
    }

    // MARK: - Reopening

    @Test func findsItsFileAgain() throws {
        let first = try PartFile.create(name, in: directory)
        try put("held", first.descriptor)
        guard
            case .opened(let part) = try PartFile.reopen(
                name, in: directory, expecting: first.identity)
        else {
            Issue.record("the file was there")
            return
        }
        #expect(try part.read(at: 0, count: 10) == Array("held".utf8))
        try put("!", part.descriptor, at: 4)
        #expect(try part.size() == 5)
    }

    /// What was written before somebody forbade to write to it can be made durable all the same.
    @Test func needsNoRightToWriteForASync() throws {
        let first = try PartFile.create(name, in: directory)
        guard
            case .opened(let part) = try PartFile.reopen(
                name, in: directory, expecting: first.identity, isForSync: true)
        else {
            Issue.record("the file was there")
            return
        }
        #expect(fcntl(part.descriptor, F_GETFL) & O_ACCMODE == O_RDONLY)
        try part.sync()
    }

    @Test func tellsThatItVanished() throws {
        let part = try PartFile.create(name, in: directory)
        try part.remove()
        #expect(reopened(expecting: part.identity) == "vanished")
    }

    /// Each of these stands where the part file was, and none of them is it.
    enum Impostor: String, CaseIterable {
        case otherFile, link, directory, fifo, danglingLink, linkToItself
    }

    @Test(arguments: Impostor.allCases)
    func leavesAnImpostorAlone(impostor: Impostor) throws {
        let part = try PartFile.create(name, in: directory)
        try #require(rename(scratch.path(name), scratch.path("moved")) == 0)
        let place = scratch.path(name)
        switch impostor {
        case .otherFile: try scratch.write("other", to: name)
        case .link: try #require(symlink(scratch.path("moved"), place) == 0)
        case .directory: try scratch.subdirectory(name)
        case .fifo: try #require(mkfifo(place, 0o600) == 0)
        case .danglingLink: try #require(symlink("/nonexistent/x", place) == 0)
        case .linkToItself: try #require(symlink(place, place) == 0)
        }
        #expect(reopened(expecting: part.identity) == "replaced")
        #expect(scratch.exists(name))
    }

    /// A number that was freed is given to the next file.
    @Test func tellsFilesOfOneNumberApart() throws {
        let part = try PartFile.create(name, in: directory)
        // Not every file system tells when a file was created.
        if part.identity.birth == 0 { return }
        #expect(reopened(expecting: part.identity) == "opened")
        var before = part.identity
        before.birth -= 1
        #expect(reopened(expecting: before) == "replaced")
        guard case .present(let seen, _) = FileInspection.entry(at: part.path) else {
            Issue.record("it is there")
            return
        }
        #expect(seen == part.identity && seen != before)
        // Known by its number alone, as where the file system does not tell.
        before.birth = 0
        #expect(reopened(expecting: before) == "opened")
    }

    /// A backup has linked it (`cp -al`). That it is ours is told by when it was made.
    @Test func findsItsFileThatHasASecondName() throws {
        let part = try PartFile.create(name, in: directory)
        try #require(link(part.path, scratch.path("second")) == 0)
        if part.identity.birth != 0 { #expect(reopened(expecting: part.identity) == "opened") }
        #expect(reopened(expecting: part.identity.withoutBirth) == "replaced")
    }

    @Test(.enabled(if: isRoot, "only root can give a file away"))
    func refusesAFileOfAnotherUser() throws {
        let part = try PartFile.create(name, in: directory)
        try #require(chown(part.path, 12_345, 12_345) == 0)
        #expect(reopened(expecting: part.identity.withoutBirth) == "replaced")
        #expect(try scratch.names() == [name])
    }

    /// Everything on it belongs to one user, who is not the one that writes.
    @Test(.enabled(if: OneUsersDisk.isPossible, "skipped: no bindfs"))
    func goesOnWhereAllFilesBelongToAnotherUser() throws {
        let disk = try OneUsersDisk()
        let there = try DirectoryHandle(opening: disk.path)
        let identity = try PartFile.create(name, in: there).identity
        guard case .opened(let part) = try PartFile.reopen(name, in: there, expecting: identity)
        else {
            Issue.record("it is the file that was made there")
            return
        }
        #expect(try scratch.names() == [])
        #expect(try #require(directoryNames(disk.path)) == [name])
        // Its daemon would not be told, and all would seem well.
        #expect(!GroupCommit.syncWhole(part.descriptor))
        // Nor are there modes to be given.
        #expect(Publication.publish(part, as: "a", policy: .fail) == .published(name: "a"))
    }

    /// FUSE may give a file another number after each mount; ext4 does not.
    @Test(.enabled(if: OneUsersDisk.isPossible, "skipped: no bindfs"))
    func knowsARenumberedFileByItsName() throws {
        let disk = try OneUsersDisk()
        for (there, knows) in [(try DirectoryHandle(opening: disk.path), true), (directory, false)]
        {
            func isOpened(_ identity: FileIdentity, from least: Int64?) throws -> Bool {
                let opened = try PartFile.reopen(
                    name, in: there, expecting: renumbered(identity), orRenumberedFrom: least)
                guard case .opened(let found) = opened else { return false }
                return found.identity == identity
            }
            let identity = try {
                let part = try PartFile.create(name, in: there)
                try put("four", part.descriptor)
                #expect(try !isOpened(part.identity, from: 4), "it is in use")
                return part.identity
            }()
            for least: Int64? in [nil, 5, 0] {
                #expect(try !isOpened(identity, from: least))
            }
            let facts = FileInspection.facts(
                part: there.path(of: name), destination: "", expecting: renumbered(identity))
            #expect((facts.part == .unusable(errno: ESTALE)) == knows)
            guard knows else {
                #expect(try !isOpened(identity, from: 4))
                continue
            }
            // A program that another test is just starting still has the lock until it runs.
            try eventually("nobody has it open any more") { try isOpened(identity, from: 4) }
        }
    }

    private func renumbered(_ identity: FileIdentity) -> FileIdentity {
        var other = identity
        other.inode += 1
        return other
    }

    private func reopened(expecting identity: FileIdentity) -> String {
        do {
            switch try PartFile.reopen(name, in: directory, expecting: identity) {
            case .opened: return "opened"
            case .vanished: return "vanished"
            case .replaced: return "replaced"
            }
        } catch {
            return error.description
        }
    }

    // MARK: - Content

    @Test func tellsWhereBytesWereTakenAway() throws {
        let part = try PartFile.create(name, in: directory)
        let text = String(repeating: "x", count: 100_000)
        try put(text, part.descriptor)
        try part.sync()
        guard let end = part.firstHole else { return }
        #expect(end == 100_000)
        try part.truncate(to: 8_192)
        try put(text, part.descriptor, at: 100_000)
        try part.sync()
        #expect(part.firstHole == 8_192)
    }

    @Test func reservesRoomWithoutChangingTheSize() throws {
        let part = try PartFile.create(name, in: directory)
        try part.preallocate(1 << 20)
        var facts = stat()
        try #require(fstat(part.descriptor, &facts) == 0)
        #expect(facts.st_size == 0)
        #expect(facts.st_blocks * 512 >= 1 << 20)
        try part.truncate(to: 0)
        try #require(fstat(part.descriptor, &facts) == 0)
        #expect(facts.st_blocks * 512 < 1 << 20)
    }

    @Test(.enabled(if: SmallDisk.isPossible, "needs the right to mount"))
    func reportsAFullDiskBeforeTheFirstByte() throws {
        let disk = try SmallDisk(bytes: 1 << 20)
        let part = try PartFile.create(name, in: DirectoryHandle(opening: disk.path))
        let failure = #expect(throws: SystemFailure.self) { try part.preallocate(8 << 20) }
        #expect(failure?.errno == ENOSPC)
        #expect(failure?.longhaulError().code == .noSpace)
        #expect(try part.size() == 0)
    }

    @Test func readsOnlyWhatIsThere() throws {
        let part = try PartFile.create(name, in: directory)
        try put("0123456789", part.descriptor)
        #expect(try part.read(at: 4, count: 3) == Array("456".utf8))
        #expect(try part.read(at: 8, count: 9) == Array("89".utf8))
        #expect(try part.read(at: 99, count: 9) == [])
    }

    @Test func syncsAndHints() throws {
        let part = try PartFile.create(name, in: directory)
        try put("data", part.descriptor)
        try part.sync()
        try part.sync()
        #expect(try scratch.read(name) == "data")
    }

    @Test func removesOnlyItsOwnFile() throws {
        let part = try PartFile.create(name, in: directory)
        try part.remove()
        #expect(!scratch.exists(name))
        try scratch.write("somebody else's", to: name)
        try part.remove()
        #expect(try scratch.read(name) == "somebody else's")
    }

    @Test func closesItsDescriptorWhenLetGo() throws {
        // The number may be taken again by another test at once; what it leads to then is another
        // file.
        func descriptorAndInode() throws -> (Int32, UInt64) {
            let part = try PartFile.create(name, in: directory)
            return (part.descriptor, part.identity.inode)
        }
        let (number, inode) = try descriptorAndInode()
        var facts = stat()
        #expect(fstat(number, &facts) != 0 || UInt64(facts.st_ino) != inode)
    }
}

extension FileIdentity {
    /// As where the file system does not tell.
    fileprivate var withoutBirth: FileIdentity { FileIdentity(device: device, inode: inode) }
}
