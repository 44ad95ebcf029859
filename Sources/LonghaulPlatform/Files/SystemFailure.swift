internal import Glibc

/// A system call that failed, as data: what was tried on which path, and the kernel's number for
/// why.
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

    /// From the calling thread's `errno`: to be made right after the call. The path comes second,
    /// because making its text may call something that sets `errno`.
    static func last(_ operation: String, _ path: @autoclosure () -> String) -> SystemFailure {
        let number = Glibc.errno
        return SystemFailure(operation: operation, path: path(), errno: number)
    }

    /// For what does not exist: when the path itself does, as a symbolic link to nothing.
    static func leadingNowhere(_ path: String) -> SystemFailure? {
        guard FileInspection.kind(at: path) == .link else { return nil }
        return SystemFailure(operation: "follow", path: path, errno: ENOENT)
    }

    /// From a shim's answer, which is `-errno`.
    static func answered(_ answer: some SignedInteger, _ operation: String, _ path: String)
        -> SystemFailure
    {
        SystemFailure(operation: operation, path: path, errno: Int32(-answer))
    }
}

extension SystemFailure: CustomStringConvertible {
    /// For logs; what a person is shown is the sentence of ``longhaulError(bytesKept:)``.
    package var description: String { "\(operation) \(path): \(reason)" }

    /// `EEXIST`.
    package var isNameInUse: Bool { errno == EEXIST }

    /// The C library's words for the number.
    package var reason: String { String(cString: strerror(errno)) }
}

/// Throws unless `answer`, of a shim, says that it went well; hands the answer on.
@discardableResult
func check<Answer: SignedInteger>(
    _ answer: Answer, _ operation: String, _ path: @autoclosure () -> String
) throws(SystemFailure) -> Answer {
    if answer < 0 { throw .answered(answer, operation, path()) }
    return answer
}

/// Repeats a call that answers -1 as long as a signal interrupts it.
func uninterrupted<Answer: SignedInteger>(_ call: () -> Answer) -> Answer {
    while true {
        let answer = call()
        if answer >= 0 || Glibc.errno != EINTR { return answer }
    }
}
