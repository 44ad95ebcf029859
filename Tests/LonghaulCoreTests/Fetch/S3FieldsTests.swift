import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// Which header fields of the user go with which request to S3.
@Suite struct S3FieldsTests {
    private static let all: [UploadExchange.Purpose] = [
        .whole, .create, .append, .list, .ask, .complete, .abort,
    ]

    private func goes(
        _ name: String, with purpose: UploadExchange.Purpose, signed: Bool = true
    ) -> Bool {
        var exchange = UploadExchange(
            purpose: purpose, url: "https://h/k", headers: HeaderFields(),
            body: UploadBody(method: "PUT"), range: 0..<0, completes: false)
        if signed { exchange.signature = "aws:amz:us-east-1:s3" }
        var user = HeaderFields()
        user[name] = "x"
        return !exchange.fields(of: user).isEmpty
    }

    @Test(
        arguments: [
            ("x-amz-server-side-encryption", [.whole, .create]),
            ("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id", [.whole, .create]),
            ("x-amz-acl", [.whole, .create]), ("x-amz-grant-read", [.whole, .create]),
            ("x-amz-storage-class", [.whole, .create]), ("x-amz-tagging", [.whole, .create]),
            ("x-amz-meta-Colour", [.whole, .create]), ("Cache-Control", [.whole, .create]),
            ("x-amz-object-lock-mode", [.whole, .create]), ("Content-Type", [.whole, .create]),
            ("x-amz-website-redirect-location", [.whole, .create]),
            ("x-amz-checksum-sha256", [.whole]), ("Content-MD5", [.whole]),
            ("x-amz-checksum-algorithm", [.create]), ("If-None-Match", [.whole, .complete]),
            (
                "x-amz-server-side-encryption-customer-key",
                [.whole, .create, .append, .list, .ask, .complete]
            ),
            ("x-amz-security-token", all), ("x-amz-request-payer", all),
            ("x-amz-expected-bucket-owner", all), ("X-Trace", all),
        ] as [(String, [UploadExchange.Purpose])])
    func eachHasItsPlace(_ name: String, _ purposes: [UploadExchange.Purpose]) {
        for purpose in Self.all {
            #expect(goes(name, with: purpose) == purposes.contains(purpose), "\(purpose)")
            // To other servers all go with each.
            #expect(goes(name, with: purpose, signed: false))
        }
    }
}
