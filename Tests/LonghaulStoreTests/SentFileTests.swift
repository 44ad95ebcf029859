import LonghaulCore
import Testing

@testable import LonghaulStore

/// What the store knows of files that were sent.
@Suite struct SentFileTests {
    @Test func theOldestAreForgotten() throws {
        let scratch = try ScratchStore()
        func fill(_ count: Int, at: Timestamp) throws {
            try scratch.store.write(.relaxed) { connection in
                for _ in 0..<count {
                    try connection.run(
                        "INSERT INTO sentFile (key, version, at) "
                            + "VALUES (coalesce((SELECT max(key) FROM sentFile), 0) + 1, '1', ?1)",
                        at)
                }
            }
        }
        func left(before: Timestamp, keeping most: Int) throws -> [Int64] {
            try scratch.store.write(.relaxed) { connection in
                try SentFileRows(connection).forget(before: before, keeping: most)
                return try connection.values("SELECT key FROM sentFile ORDER BY key")
            }
        }
        #expect(try left(before: .start, keeping: 3) == [])
        try fill(2, at: .start)
        try fill(4, at: .start + 10)
        #expect(try left(before: .start, keeping: 10) == [1, 2, 3, 4, 5, 6])
        #expect(try left(before: .start + 5, keeping: 10) == [3, 4, 5, 6])
        #expect(try left(before: .start + 5, keeping: 3) == [4, 5, 6])
        #expect(try left(before: .start + 11, keeping: 3) == [])
    }
}
