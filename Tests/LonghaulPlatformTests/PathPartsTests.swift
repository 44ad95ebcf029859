import LonghaulCore
import Testing

@testable import LonghaulPlatform

@Suite struct PathPartsTests {
    @Test(arguments: [
        ("/a/b", "/a", "b"), ("/a", "/", "a"), ("a", ".", "a"), ("a/b/c", "a/b", "c"),
        ("/data//x", "/data/", "x"), ("/a/ü", "/a", "ü"),
    ])
    func splitsIntoDirectoryAndName(path: String, directory: String, name: String) throws {
        let parts = try #require(PathParts.split(path))
        #expect(parts.directory == directory)
        #expect(parts.name == name)
    }

    @Test(arguments: ["", "/", "a/", "/a/.", "/a/..", ".", "..", "/a\0b"])
    func refusesPathsThatEndInNoName(path: String) {
        #expect(PathParts.split(path) == nil)
    }

    @Test(arguments: [("/", "a", "/a"), ("/a", "b", "/a/b"), (".", "b", "./b")])
    func joins(directory: String, name: String, path: String) {
        #expect(PathParts.join(directory, name) == path)
    }

    @Test(arguments: [
        ("/a/b", "/a/b"), ("/a//b", "/a/b"), ("//a", "/a"), ("/a/./b", "/a/b"), ("/a//", "/a/"),
        ("/.//./", "/"), ("/a/../b//c", "/a/../b/c"), ("/a/.b/..c//d.", "/a/.b/..c/d."),
    ])
    func hasOneSpelling(path: String, plain: String) {
        #expect(PathParts.plain(path) == plain)
        #expect(PathParts.plain(plain) == plain)
    }

    /// The number of a device may be another after each mount; when the file was created is not.
    @Test func aFileIsTheSameOnAnotherDevice() {
        let file = FileIdentity(device: 1, inode: 7, birth: 5)
        #expect(file == FileIdentity(device: 2, inode: 7, birth: 5))
        #expect(file != FileIdentity(device: 1, inode: 7, birth: 6))
        #expect(file != FileIdentity(device: 1, inode: 8, birth: 5))
        #expect(file == FileIdentity(device: 1, inode: 7))
        #expect(file != FileIdentity(device: 2, inode: 7))
    }

    @Test func namesFitTheFileSystem() {
        for length in 0...260 {
            for letter in ["x", "ü", "€", "😀"] {
                let name = String(repeating: letter, count: length)
                let parts = PartNames(for: name, id: .max, number: 1_000, store: "0123456789")
                for fitted in parts.map(\.text) + [
                    FileNaming.numbered(name + ".bin", 9_999),
                    PathParts.fitted(name, suffix: ".longhaul-bad"),
                ] {
                    #expect(fitted.utf8.count <= PathParts.nameBytesMax)
                }
            }
        }
    }

    @Test func partNamesTellTransfersApart() {
        func names(_ name: String, _ id: Int64, _ number: Int = 0) -> [PartName] {
            Array(PartNames(for: name, id: id, number: number, store: "0123456789abcdef"))
        }
        #expect(
            names("disk.iso", 7) == [
                PartName(".disk.iso.7.longhaul-part"),
                PartName(".disk.iso.7.01234567.longhaul-part", isOneStores: true),
                PartName(".disk.iso.7b.01234567.longhaul-part", isOneStores: true),
            ])
        #expect(names("disk.iso", 7, 2)[0].text == ".disk.iso.7-2.longhaul-part")
        let long = String(repeating: "n", count: 300)
        let many = Set((1...100).flatMap { names(long, $0) }.map(\.text))
        #expect(many.count == 300)
        #expect(many.allSatisfy { $0.hasPrefix(".nnn") && $0.hasSuffix(".longhaul-part") })
    }
}
