/// What is known of an upload besides the offset that the server has acknowledged
/// (``FetchState/durable``). A part of the fetch's row.
package struct UploadState: Hashable, Codable, Sendable {
    /// `nil` = the server is still to be asked.
    package var dialect: UploadDialect?
    /// The server has not shown yet that it speaks the dialect.
    package var isGuess = false
    /// The dialect is what the origin spoke before.
    package var isRemembered = false
    /// What the origin spoke before is not spoken at this URL.
    package var mustDiscover = false
    /// The resource at the server that takes the bytes. Committed before any byte is sent to it.
    package var address: String?
    /// The version that was sent so far; `nil` = that of the request.
    package var source: SourceVersion?
    /// No byte at or after this offset has been sent to the address. Committed before the bytes go
    /// out: after a crash the kernel still delivers some of them.
    package var sentBound: Int64 = 0
    /// How far the server is, is not known: it is asked before anything else is sent.
    package var mustAsk = false
    /// The server may have the whole file in a request whose answer is not known.
    package var mayHaveArrived = false
    /// Most bytes that the server takes in one request.
    package var appendLimit: Int64?

    package init() {}
}
