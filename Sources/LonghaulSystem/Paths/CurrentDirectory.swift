internal import Glibc
internal import LonghaulCore

/// Where relative paths start. Read once: neither the library nor the command changes it.
package enum CurrentDirectory {
    package static var path: String {
        get throws(LonghaulError) { try found.get() }
    }

    private static let found: Result<String, LonghaulError> = {
        guard let buffer = getcwd(nil, 0) else {
            return .failure(refusal("does not exist any more"))
        }
        defer { free(buffer) }
        let bytes = UnsafeRawBufferPointer(start: buffer, count: strlen(buffer))
        guard let path = String(validating: bytes, as: UTF8.self) else {
            return .failure(refusal("is '\(TerminalText.shown(bytes: bytes))', which is not UTF-8"))
        }
        return .success(path)
    }()

    private static func refusal(_ why: String) -> LonghaulError {
        LonghaulError(
            .invalidRequest, "the current directory \(why); change to another one, and try again")
    }
}
