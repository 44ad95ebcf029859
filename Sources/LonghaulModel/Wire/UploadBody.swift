/// The body of an upload's request. Its length is that of the three pieces together.
package struct UploadBody: Hashable, Sendable {
    /// Empty over FTP and SFTP, which have none.
    package var method: String
    /// `nil` = the request has no body at all (HEAD, OPTIONS, DELETE). Over FTP and SFTP such a
    /// request asks for the size of its file.
    package var content: Content?
    /// The request may reach the server twice: on a connection that turns out to be dead it is sent
    /// again on another one. Otherwise it is sent on a connection of its own.
    package var mayRepeat = false
    /// The answer's body is kept, up to ``Limits/responseBodyBytes``.
    package var keepsAnswer = true
    /// The server is asked before the body goes out (RFC 9110 §10.1.1); it has a second to answer.
    package var expectsContinue = false
    /// FTP and SFTP: the offset in the file at the server from which the bytes are appended.
    package var appendsAt: Int64 = 0
    /// FTP and SFTP: directories of the URL that are not there are made first.
    package var makesDirectories = false
    /// FTP and SFTP: commands about names.
    package var commands = Commands()

    /// Bytes of the file between bytes of its own.
    package struct Content: Hashable, Sendable {
        package var before: [UInt8]
        /// The range of the file that is sent.
        package var file: Range<Int64>
        package var after: [UInt8]
        /// Reading ends with ``WireFailure/sourceChanged`` when the open file is another version:
        /// looked at after each piece that was read and before it is sent.
        package var pinned: SourceVersion?

        package init(
            before: [UInt8] = [], file: Range<Int64> = 0..<0, after: [UInt8] = [],
            pinned: SourceVersion? = nil
        ) {
            self.before = before
            self.file = file
            self.after = after
            self.pinned = pinned
        }

        package var length: Int64 {
            Int64(before.count) + Int64(file.count) + Int64(after.count)
        }
    }

    /// Commands about names at the server, as libcurl takes them: a command with an asterisk may
    /// fail.
    package struct Commands: Hashable, Sendable {
        /// Before bytes go out, in the directory of the URL.
        package var before: [String] = []
        /// When the server has confirmed all of them.
        package var after: [String] = []
    }

    package init(method: String, content: Content? = nil) {
        self.method = method
        self.content = content
    }
}
