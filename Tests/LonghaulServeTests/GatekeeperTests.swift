import NIOHTTP1
import Testing

@testable import Longhaul
@testable import LonghaulServe

/// What is admitted, by its header alone; and small rules of aria2's.
@Suite struct GatekeeperTests {
    private func verdict(
        _ fields: [(String, String)], secret: String? = nil, origins: Set<String> = []
    ) throws -> Gatekeeper.Verdict {
        let keeper = Gatekeeper(
            secret: try secret.map { try Secret($0) }, allowedOrigins: origins)
        return keeper.verdict(HTTPHeaders(fields), proven: false)
    }

    @Test(arguments: ["localhost", "LOCALHOST:6800", "127.0.0.1:6800", "[::1]:6800", "10.0.0.1"])
    func hostsOfItsOwn(host: String) throws {
        #expect(try verdict([("Host", host)]) == .admitted)
        #expect(
            try verdict([("Host", host), ("Origin", "http://" + host)]) == .admitted)
    }

    @Test(arguments: ["", "example.org", "127.0.0.1.example.org", "1.2.3.4.5", "[::1", "a:b"])
    func hostsOfOthers(host: String) throws {
        #expect(try verdict([("Host", host)]) != .admitted)
    }

    @Test func aHostIsNamedOnce() throws {
        #expect(try verdict([]) != .admitted)
        #expect(try verdict([("Host", "localhost"), ("Host", "localhost")]) != .admitted)
    }

    @Test func secrets() throws {
        let host = ("Host", "localhost")
        #expect(try verdict([host], secret: "abc") == .unproven)
        #expect(
            try verdict([host, ("Authorization", "bearer abc")], secret: "abc") == .admitted)
        for wrong in ["", "ab", "abcabc", "abd", "abc "] {
            let found = try verdict([host, ("Authorization", "Bearer \(wrong)")], secret: "abc")
            #expect(found != .admitted, "\(wrong)")
        }
        #expect(throws: LonghaulError.self) { try Secret("") }
    }

    @Test func offsetsBelowZeroCountFromTheEnd() {
        let list = ["A", "B", "C", "D", "E"]
        #expect(RPCSlice.of(list, offset: 0, count: 2) == ["A", "B"])
        #expect(RPCSlice.of(list, offset: 3, count: 9) == ["D", "E"])
        #expect(RPCSlice.of(list, offset: -1, count: 2) == ["E", "D"])
        #expect(RPCSlice.of(list, offset: -4, count: 9) == ["B", "A"])
        #expect(RPCSlice.of(list, offset: -6, count: 1) == [])
        #expect(RPCSlice.of(list, offset: 0, count: -1) == [])
    }

    @Test(arguments: [
        ("/a/Video.mkv", "%video%", true), ("/a/b", "%b", true), ("/a/b", "b%", false),
        ("abc", "a_c", true), ("abc", "a_", false), ("", "%", true), ("aXbXc", "%x%c", true),
    ])
    func patterns(text: String, pattern: String, matches: Bool) {
        #expect(LikePattern.matches(text, pattern) == matches)
    }

    @Test func gidsFollowFromIDsUnlessTheyAreChosen() throws {
        #expect(GID.text(TransferID(rawValue: 255), chosen: nil) == "00000000000000ff")
        for own in ["00000000000000ff", "ff", "000000ffffffffff"] {
            guard case .own(let id) = try GID(own) else {
                Issue.record("\(own) is not an id")
                continue
            }
            #expect(id.rawValue == Int64(own, radix: 16))
        }
        for chosen in ["0000010000000000", "FFFFFFFFFFFFFFFF"] {
            guard case .chosen(let gid) = try GID(chosen) else {
                Issue.record("\(chosen) is an id")
                continue
            }
            #expect(gid == chosen.lowercased())
            #expect(try GID.choice(chosen) == gid)
        }
        for wrong in ["", "0", "g", "-1", "00000000000000001"] {
            #expect(throws: LonghaulError.self) { try GID(wrong) }
            #expect(throws: LonghaulError.self) { try GID.choice(wrong) }
        }
        #expect(throws: LonghaulError.self) { try GID.choice("000000ffffffffff") }
    }
}
