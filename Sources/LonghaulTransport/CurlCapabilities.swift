internal import CLonghaul

/// What the libcurl in use can do, as it says itself: for `doctor`, and for refusing early what
/// could never work.
package struct CurlCapabilities: Hashable, Sendable {
    /// libcurl's version, such as `7.88.1`.
    package var version: String
    /// The TLS library with its version; `nil` = built without.
    package var tls: String?
    /// nghttp2's version; `nil` = HTTP/1.1 only.
    package var http2: String?
    /// The SSH library with its version; `nil` = no SFTP.
    package var ssh: String?
    /// Schemes that it can fetch, of those that Longhaul asks for.
    package var schemes: [String]
    /// The same libcurl may be used by several threads that start at once.
    package var isThreadSafe: Bool
    /// New enough, and able to do http at least.
    package var isUsable: Bool

    /// Of this process. Safe to ask from any thread, at any time.
    package static let current = CurlCapabilities()

    private init() {
        guard let info = lh_version_info()?.pointee else {
            version = "unknown"
            schemes = []
            isThreadSafe = false
            isUsable = false
            return
        }
        func text(_ pointer: UnsafePointer<CChar>?) -> String? {
            pointer.map { String(cString: $0) }
        }
        version = text(info.version) ?? "unknown"
        tls = text(info.ssl_version)
        ssh = text(info.libssh_version)
        http2 = info.features & CURL_VERSION_HTTP2 != 0 ? text(info.nghttp2_version) : nil
        var built: Set<String> = []
        var entry = info.protocols
        while let name = entry?.pointee {
            built.insert(String(cString: name))
            entry = entry?.advanced(by: 1)
        }
        schemes = ["http", "https", "ftp", "ftps", "sftp"].filter { built.contains($0) }
        isThreadSafe = info.features & Int32(CURL_VERSION_THREADSAFE) != 0
        isUsable = info.version_num >= CurlGlobal.leastVersion && built.contains("http")
    }
}
