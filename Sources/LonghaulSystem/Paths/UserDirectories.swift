internal import Glibc
internal import LonghaulCore

/// Where a user's programs keep things, by the XDG Base Directory Specification.
package enum UserDirectories {
    /// `$XDG_CONFIG_HOME`, else `~/.config`; `nil` when there is no home directory.
    package static func configuration(environment: [String: String]) -> String? {
        // Relative paths there are invalid and to be ignored (same specification).
        if let chosen = environment["XDG_CONFIG_HOME"], chosen.isAbsolutePath { return chosen }
        return home(environment: environment).map { PathParts.join($0, ".config") }
    }

    /// `$HOME`, else what the user database says.
    static func home(environment: [String: String]) -> String? {
        let named = environment["HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? entry(\.pw_dir)
        return named.flatMap { $0.isAbsolutePath ? $0 : nil }
    }

    /// The name of the user that this process runs as.
    package static var userName: String? { entry(\.pw_name) }

    private static func entry(
        _ field: KeyPath<passwd, UnsafeMutablePointer<CChar>?>
    ) -> String? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        guard getpwuid_r(geteuid(), &entry, &buffer, buffer.count, &found) == 0, let found,
            let text = found.pointee[keyPath: field]
        else { return nil }
        return String(validatingCString: text)
    }
}
