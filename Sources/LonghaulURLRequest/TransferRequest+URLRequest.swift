internal import FoundationEssentials
public import FoundationNetworking
public import Longhaul

extension TransferRequest {
    /// The download that a `URLRequest` describes: its URL, its header fields, its timeout as the
    /// stall timeout, and an unmetered network where it does not allow a cellular one. Its cache
    /// policy has no counterpart: nothing is cached.
    ///
    /// - Throws: `unsupported` for a method other than GET, and for a request with a body;
    ///   `invalidRequest` without a URL.
    public init(_ request: URLRequest) throws(LonghaulError) {
        guard let url = request.url else {
            throw LonghaulError(.invalidRequest, "the URLRequest has no URL")
        }
        if let method = request.httpMethod, method != "GET" {
            throw LonghaulError(
                .unsupported, "a download is asked for with GET, not with \(method)")
        }
        if request.httpBody != nil || request.httpBodyStream != nil {
            throw LonghaulError(.unsupported, "a download's request has no body")
        }
        self.init(url: url)
        let fields = request.allHTTPHeaderFields ?? [:]
        for name in fields.keys.sorted() { headers[name] = fields[name] }
        options.stallTimeout = request.timeoutInterval
        schedule.requires.unmetered = !request.allowsCellularAccess
    }
}
