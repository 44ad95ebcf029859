import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// Where `Location` leads to.
@Suite struct UploadAddressTests {
    /// (asked, location, address)
    @Test(
        arguments: [
            ("http://h/f/", "/r/1", "http://h/r/1"), ("http://h/f/a", "1?x", "http://h/f/1?x"),
            ("https://h/f/", "https://g/r/1", "https://g/r/1"),
            ("http://h/f/", "https://h/r/1", "https://h/r/1"),
            // A server behind a proxy that hides TLS.
            ("https://h/f/", "http://h/r/1?k=v", "https://h/r/1?k=v"),
            ("https://h:8443/f/", "http://h/r/1", "https://h:8443/r/1"),
            ("https://h:8443/f/", "http://H:8443/r/1", "https://h:8443/r/1"),
            ("https://h/f/", "http://h:1080/r/1", "https://h/r/1"),
            ("https://u:p@h/f/", "HTTP://h/r/1", "https://h/r/1"),
            ("https://h/f/", "http://g/r/1", nil), ("https://h/f/", "http://h.g/r/1", nil),
            ("https://h/f/", "ftp://h/r/1", nil), ("https://h/f/", "", nil),
            // The slash before a combining mark is one.
            ("https://h/\u{301}@g/f/", "/r/1", "https://h/r/1"),
        ] as [(String, String, String?)])
    func itIsResolved(_ asked: String, _ location: String, _ address: String?) {
        #expect(UploadAddress.resolve(location, at: asked) == address)
    }

    @Test func whatTheProxyHidesIsSaid() {
        var headers = HeaderFields()
        headers["Location"] = "http://backend/r/1"
        let head = ResponseHead(
            scheme: .http, status: 201, headers: headers, effectiveURL: "https://h/f/",
            httpVersion: 11, receivedAt: Timestamp(milliseconds: 0))
        #expect(UploadFailure.nowhere(head).error.message.contains("proxy hides TLS"))
    }
}
