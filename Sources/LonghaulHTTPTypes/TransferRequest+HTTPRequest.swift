public import HTTPTypes
public import Longhaul

extension TransferRequest {
    /// The transfer that a request of swift-http-types describes: its URL, its header fields, and
    /// for an upload its method. Fields of one name are joined (RFC 9110 §5.3).
    ///
    /// GET is a download, PUT and POST are uploads: their file is given to
    /// `BackgroundSession.upload(_:with:)`.
    ///
    /// - Throws: `unsupported` for another method; `invalidRequest` for a request without scheme,
    ///   authority or path, and for a scheme other than http and https.
    public init(_ request: HTTPRequest) throws(LonghaulError) {
        guard let scheme = request.scheme, let authority = request.authority,
            let path = request.path
        else {
            throw LonghaulError(
                .invalidRequest, "the HTTPRequest needs a scheme, an authority and a path")
        }
        guard ["http", "https"].contains(scheme.lowercased()) else {
            throw LonghaulError(
                .invalidRequest, "an HTTPRequest is for http or https, not for \(scheme)")
        }
        self.init(url: "\(scheme)://\(authority)\(path)", destination: .file(""))
        switch request.method {
        case .get: break
        case .put: method = .put
        case .post: method = .post
        default:
            throw LonghaulError(
                .unsupported,
                "a download is asked for with GET, an upload with PUT or POST, not with "
                    + "\(request.method)")
        }
        for field in request.headerFields {
            headers[field.name.rawName] = request.headerFields[field.name]
        }
    }
}

extension TransferResponse {
    /// The answer as a response of swift-http-types; `nil` for FTP and SFTP. Fields with a name
    /// that is not a token (RFC 9110 §5.1) are left out.
    public var httpResponse: HTTPResponse? {
        guard let statusCode, (0...999).contains(statusCode) else { return nil }
        var fields = HTTPFields()
        for field in headers.fields {
            guard let name = HTTPField.Name(field.name) else { continue }
            fields.append(HTTPField(name: name, value: field.value))
        }
        return HTTPResponse(status: .init(code: statusCode), headerFields: fields)
    }
}
