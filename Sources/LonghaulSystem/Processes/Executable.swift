internal import Glibc
package import LonghaulCore

/// Whether a program could be run by this user now.
package enum Executable {
    /// `nil` = it could.
    package static func obstacle(_ path: String) -> LaunchObstacle? {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return .missing }
        return facts.isRegular && access(path, X_OK) == 0 ? nil : .notExecutable
    }
}
