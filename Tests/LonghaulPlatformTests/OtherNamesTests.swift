import LonghaulCore
import LonghaulTestSupport
import Testing

@testable import LonghaulPlatform

/// Directories whose file systems have other rules for names than Linux.
@Suite struct OtherNamesTests {
    private static let long = String(repeating: "n", count: 170)

    @Test func linuxHasAnyName() throws {
        let scratch = try Scratch()
        let directory = try scratch.directory()
        #expect(directory.hasAnyName)
        for name in FileNaming.peculiar { #expect(directory.refusal(of: name) == nil) }
        #expect(try scratch.names().isEmpty)
    }

    /// Where no file can be made, that is not for its name.
    @Test(.enabled(if: SmallDisk.isPossible, "skipped: no tmpfs can be mounted"))
    func aDiskThatCannotBeAskedRefusesNone() throws {
        let disk = try SmallDisk(bytes: 65_536)
        try disk.makeReadOnly()
        #expect(try DirectoryHandle(opening: disk.path).refusal(of: "a:b") == nil)
    }

    @Test(.enabled(if: OtherNamesDisk.Kind.ntfs.isPossible, "skipped: no NTFS can be mounted"))
    func windowsHasNoSuchNames() throws {
        let scratch = try Scratch()
        let disk = try OtherNamesDisk(.ntfs, at: scratch.path("disk"))
        let directory = try DirectoryHandle(opening: disk.path)
        for name in ["a:b", "a ", "a.", "CON", "con.txt", "a?", "a|b", "a\u{1}"] {
            let refusal = try #require(directory.refusal(of: name), "\(name)")
            #expect(refusal.isOfName && refusal.path == disk.path + "/" + name)
            #expect(directory.refusal(of: FileNaming.portable(name)) == nil)
        }
        for name in ["a", " a", "ü", Self.long, "console"] {
            #expect(directory.refusal(of: name) == nil, "\(name)")
        }
        #expect(try disk.names == [])
    }

    /// The part file's name is no longer than its file's.
    @Test(.enabled(if: OtherNamesDisk.Kind.encfs.isPossible, "skipped: no EncFS can be mounted"))
    func aLongNameHasAPartFileAsWell() throws {
        let scratch = try Scratch()
        let disk = try OtherNamesDisk(.encfs, at: scratch.path("disk"))
        let directory = try DirectoryHandle(opening: disk.path)
        #expect(directory.refusal(of: Self.long) == nil)
        let refusal = try #require(
            directory.refusal(of: Self.long + String(repeating: "m", count: 20)))
        #expect(refusal.isOfName && refusal.isNameTooLong)
        for name in [Self.long, String(repeating: "n", count: 120), "short"] {
            let part = try PartFile.create(
                PartNames(for: name, id: .max, number: 9, store: "0123456789"), in: directory)
            try put("x", part.descriptor)
            #expect(
                Publication.publish(part, as: name, policy: .fail) == .published(name: name))
            let bad = try PartFile.create(
                PartNames(for: name, id: 1, store: "0123456789"), in: directory)
            _ = try Publication.keepBad(bad, as: name)
        }
        let names = try disk.names
        #expect(names.count == 6, "\(names)")
    }
}
