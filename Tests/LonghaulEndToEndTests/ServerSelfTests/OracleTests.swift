import Foundation
import LonghaulTestSupport
import Testing

@Suite struct OracleTests {
    @Test func everyWayOfAskingGivesTheSameBytes() {
        let oracle = ByteOracle(seed: 3)
        let whole = oracle.bytes(0..<10_000)
        #expect(whole.indices.allSatisfy { whole[$0] == oracle.byte(at: $0) })
        var random = SeededRandom(seed: 1)
        for _ in 0..<200 {
            let start = Int.random(in: 0..<9000, using: &random)
            let end = Int.random(in: start...10_000, using: &random)
            #expect(oracle.bytes(start..<end) == Array(whole[start..<end]))
        }
        var joined: [UInt8] = []
        oracle.forEachPiece(of: 5..<9999) { piece, offset in
            #expect(offset == 5 + joined.count)
            joined += piece
        }
        #expect(joined == Array(whole[5..<9999]))
    }

    @Test func seedsAndOffsetsDiffer() {
        let first = ByteOracle(seed: 0).bytes(0..<4096)
        let second = ByteOracle(seed: 1).bytes(0..<4096)
        let same = zip(first, second).filter { $0 == $1 }.count
        #expect(same < 100)
        #expect(ByteOracle(seed: 0).bytes(8..<4104) != second)
        #expect(ByteOracle(seed: 0).bytes((1 << 33)..<(1 << 33) + 16) != Array(first[..<16]))
    }

    @Test(.enabled(if: InstalledProgram.find("sha256sum") != nil, "skipped: no sha256sum"))
    func theDigestIsThatOfTheWrittenFile() async throws {
        let scratch = try Scratch()
        let file = Representation(size: 3_000_001, seed: 9)
        try file.write(to: scratch("a"))
        try file.verify(file: scratch("a"))
        let program = try #require(InstalledProgram.find("sha256sum"))
        let result = try await CLIProcess.run(program, [scratch("a")])
        #expect(result.output.hasPrefix(file.sha256 + " "))
    }

    @Test func aWrongByteIsNamed() throws {
        let scratch = try Scratch()
        let file = Representation(size: 2_000_000, seed: 9)
        var bytes = file.bytes
        bytes[1_500_000] ^= 1
        try scratch.write(Data(bytes), to: "a")
        #expect(throws: WrongContent(description: "\(scratch("a")) is wrong at byte 1500000")) {
            try file.verify(file: scratch("a"))
        }
        try file.verify(0..<1_500_000, of: scratch("a"))
        try scratch.write(Data(bytes.dropLast()), to: "a")
        #expect(throws: WrongContent.self) { try file.verify(file: scratch("a")) }
    }

    @Test(arguments: [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
        (4_102_444_799, "Thu, 31 Dec 2099 23:59:59 GMT"),
    ])
    func dates(seconds: Int, text: String) {
        #expect(HTTPDate.format(seconds) == text)
    }

    @Test func jsonLinesAreReadStrictly() throws {
        let rows = try JSONValue.lines(
            #"{"id":1,"ok":true,"x":null,"e":{"code":"io"},"l":[1,2]}"# + "\n")
        #expect(rows.count == 1)
        let row = rows[0]
        #expect(row["id"] == 1)
        #expect(row["ok"] == true)
        #expect(row["ok"] != 1)
        #expect(row["x"] == nil)
        #expect(row.has("x") && !row.has("y"))
        #expect(row["e"]["code"] == "io")
        #expect(row["l"] == [1, 2])
        #expect(row["l"][1].int == 2)
        #expect(throws: (any Error).self) { try JSONValue.lines("{\"a\":1}\n\n{}\n") }
        #expect(throws: (any Error).self) { try JSONValue.lines("waiting\n") }
    }
}
