/// Finds the URL of a file whose upload was given the URL of a directory: one whose path is empty
/// or ends in a slash, as `curl -T`, rclone and the AWS command line read it.
package enum UploadPlace {
    /// The source of an upload whose bytes came on standard input. They are in its snapshot.
    package static let standardInput = "/dev/stdin"

    /// The request with the file's name in its URL, if the URL names a directory.
    ///
    /// A POST, tus and the draft create a resource at such a URL, which stays unchanged. With
    /// ``UploadProtocol/auto`` the server has to be asked first: see ``UploadDiscovery``.
    package static func named(_ request: TransferRequest) -> TransferRequest {
        guard let upload = request.options.upload, isPlace(request.url, upload) else {
            return request
        }
        var named = request
        named.url = url(of: request.sourceName, at: request.url)
        if let asked = request.options.s3?.askedURL {
            named.options.s3?.askedURL = url(of: request.sourceName, at: asked)
        }
        return named
    }

    /// The URL of the file in a directory; another URL stays.
    package static func url(of name: String, at url: String) -> String {
        appending(PercentEncoding.encode(name.utf8), to: url)
    }

    /// The URL of a directory below another one.
    ///
    /// - Parameter path: Names with slashes between, and one at the end.
    package static func directory(_ path: String, at url: String) -> String {
        appending(PercentEncoding.encode(path.utf8, keeping: [UInt8(ascii: "/")]), to: url)
    }

    /// The path of the URL is empty or ends in a slash.
    package static func isDirectory(_ url: String) -> Bool { appending("-", to: url) != url }

    private static func appending(_ encoded: String, to url: String) -> String {
        guard let mark = url.utf8.firstRange(of: "://".utf8) else { return url }
        let rest = url.utf8[mark.upperBound...]
        // A query is of HTTP alone; in the key of an object both characters may stand.
        let ends: String =
            if url.beginsIgnoringCase(with: "http") {
                "?#"
            } else {
                url.beginsIgnoringCase(with: "s3:") ? "" : "#"
            }
        let end = rest.firstIndex(where: ends.utf8.contains) ?? rest.endIndex
        let path = rest[..<end].firstIndex(of: UInt8(ascii: "/")).map { rest[$0..<end] }
        guard path?.last ?? UInt8(ascii: "/") == UInt8(ascii: "/") else { return url }
        return url[..<end] + (path == nil ? "/" : "") + encoded + url[end...]
    }

    /// The URL names the place of the file, regardless of the server's answer.
    private static func isPlace(_ url: String, _ upload: UploadOptions) -> Bool {
        if RemoteFile(url) != nil { return true }
        return switch upload.uploadProtocol {
        case .put, .s3: true
        case .auto, .post, .ietf, .tus: false
        }
    }
}

extension TransferRequest {
    /// Name of the file that an upload sends.
    package var sourceName: String {
        guard case .file(let path) = destination else { return "file" }
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
        return String(path[path.utf8.index(after: slash)...])
    }
}
