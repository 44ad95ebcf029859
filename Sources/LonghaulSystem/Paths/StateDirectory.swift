package import LonghaulCore

/// Where a user's store, lock and sockets live.
package enum StateDirectory {
    /// `$LONGHAUL_HOME`, else `$XDG_STATE_HOME/longhaul`, else `~/.local/state/longhaul`; an
    /// absolute path, of which nothing need exist.
    ///
    /// - Throws: `storeUnavailable` when there is no home directory to put it in.
    package static func resolve(environment: [String: String]) throws(LonghaulError) -> String {
        // An empty variable counts as unset, as the XDG Base Directory Specification says of its
        // own.
        func value(_ name: String) -> String? {
            environment[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        if let chosen = value("LONGHAUL_HOME") { return try absolute(chosen) }
        // Relative paths there are invalid and to be ignored (same specification).
        if let state = value("XDG_STATE_HOME"), state.isAbsolutePath {
            return PathParts.join(state, "longhaul")
        }
        if let home = UserDirectories.home(environment: environment) {
            return PathParts.join(home, ".local/state/longhaul")
        }
        throw refusal(
            "there is no home directory for the state directory; \(advice)")
    }

    // MARK: -

    private static let advice = "set LONGHAUL_HOME to a directory of your own"

    private static func refusal(_ message: String) -> LonghaulError {
        LonghaulError(.storeUnavailable, message)
    }

    private static func absolute(_ path: String) throws(LonghaulError) -> String {
        if path.isAbsolutePath { return path }
        do {
            return PathParts.join(try CurrentDirectory.path, path)
        } catch {
            throw refusal("LONGHAUL_HOME is relative, and \(error.message); \(advice)")
        }
    }
}
