import LonghaulCore
import Testing

@testable import LonghaulTransport

/// Bytes of a head that are no UTF-8.
@Suite struct HeadBlockTests {
    private func fields(_ lines: [[UInt8]]) -> HeaderFields {
        let block = [UInt8](lines.joined(separator: [0x0D, 0x0A])) + [0x0D, 0x0A]
        return block.withUnsafeBytes { HeadBlock.fields(of: $0) }
    }

    /// They go back to the server as they came, whatever their encoding is.
    @Test(
        arguments: [
            ([0xE9], "/caf%E9"), ([0xC3, 0xA9], "/caf%C3%A9"), ([0xC4, 0xE3], "/caf%C4%E3"),
            (Array(" %20\u{7E}".utf8), "/caf%20%20~"), ([0xFF, 0x2F, 0xC3], "/caf%FF/%C3"),
        ] as [([UInt8], String)])
    func aLocationKeepsItsBytes(bytes: [UInt8], path: String) throws {
        let head = fields([Array("HTTP/1.1 302 Found".utf8), Array("location: /caf".utf8) + bytes])
        let location = try #require(head["Location"])
        let base = try #require(RequestURL("http://h/1"))
        #expect(RequestURL(location: location, base: base)?.text == "http://h\(path)")
    }

    @Test func otherFieldsAreText() {
        let head = fields([
            Array("HTTP/1.1 200 OK".utf8), Array("A: caf".utf8) + [0xE9],
            Array("B: caf".utf8) + [0xC3, 0xA9],
        ])
        #expect(head["A"] == "café" && head["B"] == "café")
    }
}
