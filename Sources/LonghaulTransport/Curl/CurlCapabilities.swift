internal import CLonghaul

/// The capabilities of the libcurl in use: for `doctor`, and for refusing requests early that
/// cannot work.
package struct CurlCapabilities: Hashable, Sendable {
    /// libcurl's version, such as `7.88.1`.
    package var version: String
    /// The TLS library with its version; `nil` = built without.
    package var tls: String?
    /// nghttp2's version; `nil` = HTTP/1.1 only.
    package var http2: String?
    /// The SSH library with its version; `nil` = no SFTP.
    package var ssh: String?
    /// The supported schemes among the ones that Longhaul uses.
    package var schemes: [String]
    /// True if several threads may initialize the same libcurl at once.
    package var isThreadSafe: Bool
    /// True if it is new enough and supports http.
    package var isUsable: Bool

    /// Capabilities of this process's libcurl. May be read on any thread, at any time.
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
