internal import LonghaulCore

/// A request without a URL.
package struct RequestTemplate {
    package var request: TransferRequest
    /// Absolute; `.` if there is no current directory: then a request without a directory is
    /// refused.
    package var directory: String
    /// Absolute; the file of the one URL.
    package var file: String?

    package init(directory: String) {
        self.directory = directory
        request = TransferRequest(url: "", destination: .directory(directory, remoteName: false))
    }

    /// The destination of a URL that names none.
    package var destination: Destination {
        file.map { .file($0) } ?? .directory(directory, remoteName: request.options.remoteName)
    }

    /// A request for the URL, with the template's options.
    ///
    /// Refuses an invalid URL; the queue validates the rest.
    package func request(url: String) throws(LonghaulError) -> TransferRequest {
        var request = request
        request.url = try OptionText.transferURL(url)
        request.destination = destination
        return request
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// A line as text. Invalid UTF-8 is refused: repaired text would have another meaning.
    package func text() throws(LonghaulError) -> String {
        guard let text = String(validating: self, as: UTF8.self) else {
            throw .usage("it is not UTF-8; convert it first, as `iconv -f LATIN1 -t UTF-8` does")
        }
        return text
    }
}
