import Foundation
import LonghaulTestValues
import Testing

/// Each file of the corpus holds its target's property: real inputs, and those that once broke one.
@Suite struct CorpusTests {
    @Test(arguments: FuzzTarget.all.map(\.name)) func holds(name: String) throws {
        let target = try #require(FuzzTarget.named(name))
        let directory = Fixture.path("fuzz/\(name)")
        let files = try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
        #expect(!files.isEmpty)
        for file in files {
            let input = [UInt8](try Data(contentsOf: URL(filePath: "\(directory)/\(file)")))
            #expect(throws: Never.self, "\(name)/\(file)") { try target.property(input) }
        }
    }

    /// A folder without a target is never read.
    @Test func eachFolderIsATarget() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Fixture.path("fuzz"))
        #expect(Set(folders) == Set(FuzzTarget.all.map(\.name)))
    }

    /// The checks can fail.
    @Test func aBrokenPropertyThrows() {
        #expect(throws: Broken.self) { try check(false, "it does not hold") }
        #expect(throws: Broken.self) { try checkRoundTrip(1, nil) }
    }
}
