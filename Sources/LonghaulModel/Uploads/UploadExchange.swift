/// A request of an upload's conversation with the server.
package struct UploadExchange: Hashable, Sendable {
    package enum Purpose: Hashable, Sendable {
        /// OPTIONS: asks for the server's protocols.
        case discover
        /// All bytes in one request. Where the draft is spoken, it also creates a resource.
        case whole
        /// A resource without a byte in it.
        case create
        /// HEAD: how far the server is.
        case ask
        /// GET: which parts the server has.
        case list
        /// PATCH: the bytes from an offset on.
        case append
        /// POST: the parts are to become one object.
        case complete
        /// DELETE: the upload is not wanted any more.
        case abort
        /// MKCOL: a directory of the URL, see ``MissingDirectories``.
        case makeDirectory
    }

    package var purpose: Purpose
    package var url: String
    /// CURLOPT_AWS_SIGV4; `nil` = not signed.
    package var signature: String?
    /// Header fields in addition to the user's.
    package var headers: HeaderFields
    package var body: UploadBody
    /// The bytes of the file that are sent.
    package var range: Range<Int64>
    /// The last byte of the file is among them.
    package var completes: Bool
    /// Number of the part that is sent, where parts may go beside each other.
    package var part: Int?
    /// The digest of its bytes that is to go with it, see ``told(_:)``.
    package var digest: Checksum.Algorithm?
    /// The resource that the request makes or uses up, where its name is known before the answer.
    package var address: String?
}

extension UploadExchange {
    /// Without a body.
    init(_ purpose: Purpose, _ method: String, _ url: String, headers: HeaderFields = .init()) {
        self.init(
            purpose: purpose, url: url, headers: headers, body: UploadBody(method: method),
            range: 0..<0, completes: false)
    }

    /// The answer leads to another URL, where the same request is made.
    package func isRedirected(by head: ResponseHead) -> Bool {
        [301, 302, 307, 308].contains(head.status) && head.headers.contains("Location")
            && !hasResultElsewhere(head)
    }

    /// The answer says that a POST of the file was carried out, and that its result is at another
    /// URL (RFC 9110 §15.4.4). Once the body has gone out, 301 and 302 mean the same for a POST:
    /// browsers follow them with GET (§15.4). A move from http to https is not such an answer.
    func hasResultElsewhere(_ head: ResponseHead) -> Bool {
        guard purpose == .whole, body.method == "POST", head.isAfterBody else { return false }
        switch head.status {
        case 303: return true
        case 302: return head.headers.contains("Location")
        case 301:
            guard let location = head.headers["Location"] else { return false }
            let isUpgrade =
                location.beginsIgnoringCase(with: "https:")
                && head.effectiveURL.beginsIgnoringCase(with: "http:")
            return !isUpgrade
        default: return false
        }
    }
}
