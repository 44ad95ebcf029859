import Glibc
import LonghaulCore
import LonghaulTestSupport
import Testing

@testable import LonghaulPlatform

/// Files that are complete at a path.
@Suite struct PathWatchTests {
    private let scratch: Scratch
    private let trigger: TaskTrigger
    private let watched: Watched

    init() throws {
        scratch = try Scratch()
        trigger = .path(scratch.path("in"), settle: 1)
        watched = try Watched(.empty(in: scratch), [])
    }

    private func follow() { watched.watch.setPaths([trigger]) }

    /// The names of the last report that are complete.
    private func complete() -> Set<String>? {
        for event in watched.allEvents.reversed() {
            guard case .paths(let paths) = event, let facts = paths[trigger] else { continue }
            return Set(facts.entries.filter(\.value.isComplete).keys)
        }
        return nil
    }

    private func expect(
        _ names: Set<String>, within limit: Duration = .seconds(5),
        at location: SourceLocation = #_sourceLocation
    ) {
        eventually(within: limit, "complete: \(names)", at: location) { complete() == names }
    }

    @Test func aFileIsCompleteWhenItHasSettled() throws {
        try scratch.subdirectory("in")
        follow()
        expect(["."])
        let begun = SystemClock.now().monotonic
        try scratch.write("a", to: "in/a")
        expect([".", "a"])
        #expect(SystemClock.now().monotonic - begun >= 1)
        // Written again, under another name first.
        try scratch.write("b", to: "c")
        #expect(rename(scratch.path("c"), scratch.path("in/b")) == 0)
        expect([".", "a", "b"])
    }

    /// The owner of a file learns from the kernel that a program writes to it.
    @Test func aFileThatIsWrittenIsNotComplete() throws {
        try scratch.subdirectory("in")
        follow()
        expect(["."])
        let file = Glibc.open(scratch.path("in/a"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try put("x", file)
        usleep(2_500_000)
        #expect(complete() == ["."])
        close(file)
        expect([".", "a"])
    }

    @Test func whatLiesBelowADirectoryDoesNotCount() throws {
        try scratch.subdirectory("in")
        try scratch.subdirectory("in/sub")
        follow()
        expect([".", "sub"])
        let reports = watched.allEvents.count
        try scratch.write("x", to: "in/sub/x")
        usleep(2_000_000)
        #expect(watched.allEvents.count == reports)
    }

    @Test func thePathItselfMayComeLater() throws {
        follow()
        expect([])
        try scratch.subdirectory("in")
        expect(["."])
        try scratch.write("x", to: "in/x")
        expect([".", "x"])
    }

    @Test func thePathMayBeAFile() throws {
        try scratch.write("old", to: "in")
        follow()
        expect(["."])
        func stamp() -> Int64? {
            for event in watched.allEvents.reversed() {
                if case .paths(let paths) = event {
                    return paths[trigger]?.entries["."].flatMap { $0.isComplete ? $0.stamp : nil }
                }
            }
            return nil
        }
        let before = try #require(stamp())
        try scratch.write("another", to: "new")
        #expect(rename(scratch.path("new"), scratch.path("in")) == 0)
        eventually(within: .seconds(5), "it was replaced") { stamp().map { $0 != before } ?? false }
    }

    /// Thousands of files in a burst take a few readings, and their thread rests afterwards.
    @Test func aStormIsReadAFewTimes() throws {
        try scratch.subdirectory("in")
        follow()
        expect(["."])
        for number in 0..<3_000 { try scratch.write("x", to: "in/\(number)") }
        eventually(within: .seconds(20), "all are complete") { complete()?.count == 3_001 }
        let reports = watched.allEvents.count
        #expect(reports < 20)
        let before = try #require(try processorSeconds())
        usleep(2_000_000)
        #expect(watched.allEvents.count == reports)
        #expect(try #require(try processorSeconds()) - before < 0.4)
    }

    private func processorSeconds() throws -> Double? {
        watched.watch.setInterest([.mounted])
        eventually("its thread is known") { (try? watched.processorSeconds()) != nil }
        return try watched.processorSeconds()
    }

    @Test func aPathThatIsNotAskedForIsForgotten() throws {
        try scratch.subdirectory("in")
        follow()
        expect(["."])
        watched.watch.setPaths([])
        let reports = watched.allEvents.count
        try scratch.write("x", to: "in/x")
        usleep(1_500_000)
        #expect(watched.allEvents.count == reports)
    }
}
