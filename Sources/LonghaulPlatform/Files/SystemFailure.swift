internal import Glibc

/// A failed system call as data: the call, the path and the error number.
package struct SystemFailure: Error, Hashable, Sendable {
    /// The call's name, as in its manual page: `open`, `rename`, `fdatasync`.
    package var operation: String
    package var path: String
    package var errno: Int32

    package init(operation: String, path: String, errno: Int32) {
        self.operation = operation
        self.path = path
        self.errno = errno
    }

    /// Makes a failure of the calling thread's `errno`, right after the call. The path is evaluated
    /// second, because making its text may call functions that set `errno`.
    static func last(_ operation: String, _ path: @autoclosure () -> String) -> SystemFailure {
        let number = Glibc.errno
        return SystemFailure(operation: operation, path: path(), errno: number)
    }

    /// Finds the failure to report for a missing path, if it is a dangling symbolic link.
    static func leadingNowhere(_ path: String) -> SystemFailure? {
        guard FileInspection.kind(at: path) == .link else { return nil }
        return SystemFailure(operation: "follow", path: path, errno: ENOENT)
    }

    /// Makes a failure of the result of a shim, which is `-errno`.
    static func answered(_ answer: some SignedInteger, _ operation: String, _ path: String)
        -> SystemFailure
    {
        SystemFailure(operation: operation, path: path, errno: Int32(-answer))
    }
}

extension SystemFailure: CustomStringConvertible {
    /// Text for logs; users see the sentence of ``longhaulError(bytesKept:)``.
    package var description: String { "\(operation) \(path): \(reason)" }

    /// `EBUSY` or `ETXTBSY`.
    package var isBusy: Bool { errno == EBUSY || errno == ETXTBSY }

    /// `EEXIST`.
    package var isNameInUse: Bool { errno == EEXIST }

    /// `EPIPE`: the reader has closed its end.
    package var isBrokenPipe: Bool { errno == EPIPE }

    /// `EISDIR`.
    package var isDirectory: Bool { errno == EISDIR }

    /// The file system cannot sync this file (fsync(2)). That is no sign of lost bytes.
    var isUnsyncable: Bool { errno == EINVAL || errno == EOPNOTSUPP }

    /// The file system refuses the name.
    package var isOfName: Bool { operation == "name" }

    /// `ENAMETOOLONG`.
    package var isNameTooLong: Bool { errno == ENAMETOOLONG }

    /// `ENOENT`, `ENOTDIR` or `ELOOP`: a part of the path or the target of a link is not there.
    package var leadsNowhere: Bool { [ENOENT, ENOTDIR, ELOOP].contains(errno) }

    /// `ESTALE`: the file was changed meanwhile.
    package var isOfChangedSource: Bool { errno == ESTALE }

    /// The C library's text for the error number.
    package var reason: String { String(cString: strerror(errno)) }
}

/// Throws if `answer`, the result of a shim, is negative; otherwise returns it.
@discardableResult
func check<Answer: SignedInteger>(
    _ answer: Answer, _ operation: String, _ path: @autoclosure () -> String
) throws(SystemFailure) -> Answer {
    if answer < 0 { throw .answered(answer, operation, path()) }
    return answer
}

/// Repeats a call that returns -1 while a signal interrupts it.
func uninterrupted<Answer: SignedInteger>(_ call: () -> Answer) -> Answer {
    while true {
        let answer = call()
        if answer >= 0 || Glibc.errno != EINTR { return answer }
    }
}
