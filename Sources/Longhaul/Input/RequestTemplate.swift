package import LonghaulCore

/// A request without a URL.
package struct RequestTemplate {
    package var request: TransferRequest
    /// Absolute; `.` if there is no current directory, in which case a request without a directory
    /// of its own is refused.
    package var directory: String
    /// Absolute; the file of the one URL.
    package var file: String?

    package init(directory: String) {
        self.directory = directory
        request = TransferRequest(url: "", destination: .directory(directory, remoteName: false))
    }

    /// The destination of a URL without a destination of its own.
    package var destination: Destination {
        file.map { .file($0) } ?? .directory(directory, remoteName: request.options.remoteName)
    }

    /// A request for the URL, with all that the template says.
    ///
    /// Refuses an invalid URL; the queue validates the rest.
    package func request(url: String) throws(LonghaulError) -> TransferRequest {
        var request = request
        request.url = try OptionText.url(url)
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
