/// The meaning of libcurl's codes for an upload over FTP or SFTP, where it is not what
/// ``FailureTable`` says.
enum FileUploadFailure {
    /// `nil` = it means the same.
    ///
    /// - Parameter text: The server's reply (FTP), or libcurl's own words.
    static func classify(_ code: Int32, text: String) -> Failure? {
        switch code {
        case 9, 73, 78:
            // REMOTE_ACCESS_DENIED, REMOTE_FILE_EXISTS, REMOTE_FILE_NOT_FOUND
            return place(
                code, text, code == 78 ? .notFound : .forbidden,
                "the server has no such directory, or refuses access to it",
                "make it there, or give another URL with `set --url`, then `resume`")
        case 70:  // REMOTE_DISK_FULL
            return full(code, text)
        case 25:  // UPLOAD_FAILED, with the server's reply
            if text.hasPrefix("452") || text.hasPrefix("552") { return full(code, text) }
            if text.hasPrefix("4") {
                var error = LonghaulError(
                    .serverError, "the server does not take the file now\(detail(text))")
                error.curlCode = Int(code)
                return Failure(.transient, error, blamesOrigin: true)
            }
            return place(
                code, text, .forbidden, "the server refuses the file",
                "check the directory and your rights there, then `resume`")
        default: return nil
        }
    }

    /// The file is at the server, under another name.
    static func refusedRename(_ text: String) -> Failure {
        place(
            21, text, .forbidden,
            "the server has the whole file, and refuses to give it its name",
            "check the target and your rights there, then `resume`; or give the same upload with "
                + "--in-place, for a server that renames nothing")
    }

    /// The server says that this may pass (RFC 959 §4.2.1).
    static func renameRefusedNow(_ text: String) -> Failure {
        var error = LonghaulError(
            .serverError,
            "the server has the whole file, and does not give it its name now\(detail(text))")
        error.curlCode = 21
        return Failure(.transient, error, blamesOrigin: true)
    }

    private static func place(
        _ code: Int32, _ text: String, _ kind: LonghaulError.Code, _ what: String, _ advice: String
    ) -> Failure {
        var error = LonghaulError(kind, "\(what)\(detail(text)); \(advice)")
        error.curlCode = Int(code)
        return Failure(.needsInput, error)
    }

    private static func full(_ code: Int32, _ text: String) -> Failure {
        var failure = FailureTable.classify(status: 507)
        failure.error.httpStatus = nil
        failure.error.curlCode = Int(code)
        failure.error.message = "the server has no room for the file\(detail(text))"
        return failure
    }

    private static func detail(_ text: String) -> String {
        text.isEmpty ? "" : " (\(TerminalText.shown(text)))"
    }
}
