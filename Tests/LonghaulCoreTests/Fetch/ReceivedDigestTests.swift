import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// Which answers tell what the server has received.
@Suite struct ReceivedDigestTests {
    private static let hex = String(repeating: "ab", count: 32)
    private static let base64 = Base64.encode([UInt8](repeating: 0xAB, count: 32))
    private static let long = Base64.encode([UInt8](repeating: 0xCD, count: 64))

    struct Row: CustomTestStringConvertible, Sendable {
        var name: String
        var status = 204
        var fields: [String: String]
        var body = ""
        var purpose = UploadExchange.Purpose.whole
        var part: Int?
        var isForm = false
        var algorithm = Checksum.Algorithm.sha256
        var isTold: Bool

        var testDescription: String { name }
    }

    private static let digest = ["Repr-Digest": "sha-512=:\(long):, sha-256=:\(base64):"]
    private static let object = ["x-amz-checksum-sha256": base64]

    static let rows = [
        Row(name: "the last word", fields: digest, isTold: true),
        Row(name: "by the other algorithm", fields: digest, algorithm: .sha512, isTold: true),
        Row(name: "by none that is told", fields: digest, algorithm: .sha1, isTold: false),
        Row(name: "of the last piece", fields: digest, purpose: .append, isTold: true),
        Row(name: "of a question", fields: digest, purpose: .ask, isTold: false),
        Row(name: "of the answer's body", status: 200, fields: digest, body: "{}", isTold: false),
        Row(
            name: "of a coded file",
            fields: digest.merging(["Content-Encoding": "br"]) { old, _ in old }, isTold: false),
        Row(name: "of a form", fields: digest, isForm: true, isTold: false),
        Row(name: "elsewhere", status: 303, fields: digest, isTold: false),
        Row(name: "not readable", fields: ["Repr-Digest": "sha-256=:ab:"], isTold: false),
        Row(name: "an object", status: 200, fields: object, isTold: true),
        Row(name: "a part", fields: object, purpose: .append, part: 1, isTold: false),
        Row(name: "joined parts", fields: object, purpose: .complete, isTold: false),
        Row(
            name: "a digest of digests", fields: ["x-amz-checksum-sha256": "\(base64)-3"],
            isTold: false),
    ]

    @Test(arguments: rows) func isItTold(_ row: Row) {
        var headers = HeaderFields()
        for (name, value) in row.fields { headers[name] = value }
        let head = ResponseHead(
            scheme: .http, status: row.status, headers: headers, effectiveURL: "http://h/a",
            httpVersion: 11, receivedAt: Timestamp(milliseconds: 0))
        var body = UploadBody(method: "PUT", content: UploadBody.Content(file: 0..<10))
        if row.isForm { body.content?.before = [1] }
        let exchange = UploadExchange(
            purpose: row.purpose, url: "http://h/a", headers: HeaderFields(), body: body,
            range: 0..<10, completes: true, part: row.part)
        let told = ReceivedDigest.told(by: head, Array(row.body.utf8), to: exchange, row.algorithm)
        #expect((told != nil) == row.isTold)
        if row.algorithm == .sha256, let told { #expect(told.hex == Self.hex) }
    }
}
