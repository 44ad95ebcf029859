import Glibc
import LonghaulCore
import Testing

@testable import LonghaulPlatform

/// What the kernel tells of watched folders, and what is done with files that were sent.
@Suite struct FolderWatchesTests {
    private let scratch: Scratch
    private let watches = FolderWatches()

    init() throws {
        scratch = try Scratch()
    }

    private func news(of folder: Int64 = 1) -> FolderWatches.News {
        watches.news()[folder] ?? FolderWatches.News()
    }

    @Test func newsNamesFilesAndDirectories() throws {
        try scratch.subdirectory("sub")
        #expect(watches.watch(1, scratch.path, "") == nil)
        #expect(watches.watch(1, scratch.path, "sub") == nil)
        #expect(watches.watch(2, scratch.path, "sub") == nil)
        try scratch.write("a", to: "a")
        try scratch.write("b", to: "sub/b")
        try scratch.subdirectory("new")
        let all = watches.news()
        #expect(all[1]?.names == ["a", "sub/b"] && all[2]?.names == ["sub/b"])
        #expect(all[1]?.directories == ["new"] && all[1]?.isAll == false)
        // A rename into the folder is a new file, one out of it is nothing.
        #expect(rename(scratch.path("a"), scratch.path("c")) == 0)
        #expect(news().names == ["c"])
        unlink(scratch.path("c"))
        #expect(news().names.isEmpty)
    }

    @Test func allIsReadAgainAfterDirectoriesHaveMoved() throws {
        let root = try scratch.subdirectory("root")
        try scratch.subdirectory("root/sub")
        _ = watches.watch(1, root, "")
        _ = watches.watch(1, root, "sub")
        #expect(rename(scratch.path("root/sub"), scratch.path("away")) == 0)
        #expect(news().isAll)
        #expect(rename(root, scratch.path("other")) == 0)
        #expect(news().isAll)
    }

    @Test func aFolderIsForgottenAlone() throws {
        _ = watches.watch(1, scratch.path, "")
        _ = watches.watch(2, scratch.path, "")
        watches.forget(1)
        try scratch.write("a", to: "a")
        let all = watches.news()
        #expect(all[1] == nil && all[2]?.names == ["a"])
        watches.forget(2)
        try scratch.write("b", to: "b")
        #expect(watches.news().isEmpty)
    }

    @Test func beyondTheBoundTheReasonIsGiven() throws {
        let few = FolderWatches(limit: 1)
        try scratch.subdirectory("sub")
        #expect(few.watch(1, scratch.path, "") == nil)
        #expect(few.watch(1, scratch.path, "sub")?.contains("more than 1") == true)
    }

    @Test(.enabled(if: OneUsersDisk.isPossible, "skipped: no bindfs"))
    func whereTheKernelDoesNotTellTheReasonIsGiven() throws {
        let disk = try OneUsersDisk()
        #expect(watches.watch(1, disk.path, "")?.contains("does not tell") == true)
    }

    // MARK: - Files that were sent

    private func version(_ name: String) throws -> SourceVersion {
        try #require(SourceFile.present(at: scratch.path(name)))
    }

    @Test func onlyTheFileThatWasSentIsDeleted() throws {
        try scratch.write("a", to: "a")
        let sent = try version("a")
        let spent = SpentFile(scratch.path("a"), sent)
        // It was replaced, and then changed.
        try scratch.write("b", to: "b")
        #expect(rename(scratch.path("b"), scratch.path("a")) == 0)
        #expect(try spent.delete() == .isAnother)
        #expect(try SpentFile(scratch.path("a"), try version("a")).delete() == .done)
        #expect(!scratch.exists("a"))
        // Gone is gone.
        #expect(try spent.delete() == .done)
    }

    @Test func aFileThatIsWrittenToStays() throws {
        try scratch.write("a", to: "a")
        let spent = SpentFile(scratch.path("a"), try version("a"))
        let writer = open(scratch.path("a"), O_WRONLY | O_APPEND)
        #expect(try spent.delete() == .isOpen)
        #expect(try spent.move(to: scratch.path("done")) == .isOpen)
        close(writer)
        #expect(try spent.delete() == .done)
    }

    @Test func aTakenNameIsNumbered() throws {
        try scratch.subdirectory("done")
        for (number, name) in ["a.txt", "a (1).txt", "a (2).txt"].enumerated() {
            try scratch.write("\(number)", to: "a.txt")
            let spent = SpentFile(scratch.path("a.txt"), try version("a.txt"))
            #expect(try spent.move(to: scratch.path("done")) == .done)
            #expect(try scratch.read("done/\(name)") == "\(number)")
        }
        #expect(!scratch.exists("a.txt"))
        // Its directory is made.
        try scratch.write("b", to: "b")
        let spent = SpentFile(scratch.path("b"), try version("b"))
        #expect(try spent.move(to: scratch.path("done/sub/deep")) == .done)
        #expect(try scratch.read("done/sub/deep/b") == "b")
    }

    /// A power cut, or a kill, has left both names.
    @Test func aFileThatIsThereAlreadyIsNotMovedTwice() throws {
        try scratch.subdirectory("done")
        try scratch.write("other", to: "done/a")
        try scratch.write("a", to: "a")
        #expect(link(scratch.path("a"), scratch.path("done/a (1)")) == 0)
        let spent = SpentFile(scratch.path("a"), try version("a"))
        #expect(try spent.move(to: scratch.path("done")) == .done)
        #expect(!scratch.exists("a") && !scratch.exists("done/a (2)"))
        #expect(try scratch.read("done/a") == "other" && scratch.read("done/a (1)") == "a")
    }

    /// The place is the directory itself, by a link: its only name stays.
    @Test func aFileIsNotDeletedForItsOwnName() throws {
        try scratch.subdirectory("in")
        try scratch.write("a", to: "in/a")
        #expect(symlink("in", scratch.path("done")) == 0)
        let spent = SpentFile(scratch.path("in/a"), try version("in/a"))
        #expect(try spent.move(to: scratch.path("done")) == .done)
        #expect(try scratch.read("in/a (1)") == "a")
    }

    @Test func anotherFileIsNotMoved() throws {
        try scratch.write("a", to: "a")
        let spent = SpentFile(scratch.path("a"), try version("a"))
        try scratch.write("other", to: "a")
        #expect(try spent.move(to: scratch.path("done")) == .isAnother)
        #expect(try scratch.read("a") == "other" && !scratch.exists("done/a"))
    }
}
