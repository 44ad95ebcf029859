import Foundation
import Glibc
import LonghaulPlatform
import Testing

/// What an upload of a directory finds in it.
@Suite struct FileTreeTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
        for name in ["b/c", "empty"] {
            try FileManager.default.createDirectory(
                atPath: scratch.path(name), withIntermediateDirectories: true)
        }
        for name in ["b/c/z", "b/a ä", "B", ".hidden"] {
            try Data("x".utf8).write(to: URL(fileURLWithPath: scratch.path(name)))
        }
        for (name, target) in [("link", "b/c"), ("file", "B"), ("b/up", ".."), ("none", "gone")] {
            try FileManager.default.createSymbolicLink(
                atPath: scratch.path(name), withDestinationPath: target)
        }
        #expect(mkfifo(scratch.path("pipe"), 0o600) == 0)
    }

    private func passedOver(_ tree: FileTree) -> [String: FileTree.Obstacle] {
        Dictionary(uniqueKeysWithValues: tree.obstacles.map { ($0.path, $0.why) })
    }

    @Test func linksArePassedOver() throws {
        let tree = try FileTree(scratch.path, followsLinks: false)
        #expect(tree.files == [".hidden", "B", "b/a ä", "b/c/z"])
        #expect(
            passedOver(tree) == [
                "link": .link, "file": .link, "b/up": .link, "none": .link, "pipe": .special,
            ])
    }

    @Test func linksAreFollowedButNotInCircles() throws {
        let tree = try FileTree(scratch.path, followsLinks: true)
        #expect(tree.files == [".hidden", "B", "b/a ä", "b/c/z", "file", "link/z"])
        #expect(passedOver(tree) == ["b/up/": .badLink, "none": .badLink, "pipe": .special])
    }

    @Test func namesThatAreNoTextArePassedOver() throws {
        let name: [CChar] = Array(scratch.path("b/").utf8CString.dropLast()) + [-1, 0]
        let descriptor = open(name, O_CREAT | O_WRONLY, 0o600)
        #expect(descriptor >= 0)
        close(descriptor)
        let tree = try FileTree(scratch.path, followsLinks: false)
        #expect(tree.obstacles.contains { $0.path == "b/\u{FFFD}" && $0.why == .badName })
    }

    @Test func whatCannotBeReadIsNamed() throws {
        #expect(chmod(scratch.path("B"), 0) == 0)
        // Root may read each file.
        let expected: FileTree.Obstacle? = geteuid() == 0 ? nil : .unreadable
        #expect(FileTree.obstacle(toReading: scratch.path("B")) == expected)
        #expect(FileTree.obstacle(toReading: scratch.path("gone")) == .badLink)
        #expect(throws: SystemFailure.self) {
            try FileTree(scratch.path("B"), followsLinks: false)
        }
    }
}
