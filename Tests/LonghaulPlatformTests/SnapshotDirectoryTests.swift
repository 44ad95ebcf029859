import Glibc
import LonghaulCore
import Testing

@testable import LonghaulPlatform

/// What is deleted among snapshots, and what is not.
@Suite struct SnapshotDirectoryTests {
    private func snapshot(of text: String, in scratch: Scratch) throws -> PartFile {
        let source = try PartFile.create("source", in: try scratch.directory())
        try put(text, source.descriptor)
        let file = try SnapshotDirectory(in: scratch.path)
            .add(try SourceFile(source.path), willCopy: {})
        try source.remove()
        return file
    }

    @Test func whatHasNeitherALockNorAUseGoes() throws {
        let scratch = try Scratch()
        let directory = SnapshotDirectory(in: scratch.path)
        var made: [PartFile] = []
        for _ in 0..<3 { made.append(try snapshot(of: "abc", in: scratch)) }
        let names = made.map(\.name)
        #expect(try smallFile(PathParts.join(directory.path, names[0])) == "abc")
        // As a process leaves it that is killed.
        made.removeFirst(2)
        directory.sweep { $0 == PathParts.join(directory.path, names[1]) }
        #expect(Set(directoryNames(directory.path) ?? []) == Set(names[1...]))
        made = []
        directory.sweep([names[1]], sparing: { _ in false })
        #expect(directoryNames(directory.path) == [names[2]])
    }

    @Test func withoutADirectoryThereIsNothingToDo() throws {
        SnapshotDirectory(in: try Scratch().path).sweep { _ in false }
    }

    /// Its time of change is pinned: `retry` would find another version.
    @Test func afterOtherPermissionsAFileIsEnqueuedAgain() {
        let failure = SystemFailure(operation: "open", path: "/d/f", errno: EACCES)
        let fault = SourceFile.fault(failure)
        #expect(fault.code == .permission && fault.message.contains("then enqueue it again"))
    }
}
