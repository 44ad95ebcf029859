internal import Glibc
package import LonghaulModel

/// The location of a user's store, lock and sockets.
package enum StateDirectory {
    /// `$LONGHAUL_HOME`, else `$XDG_STATE_HOME/longhaul`, else `~/.local/state/longhaul`; an
    /// absolute path, which need not exist.
    ///
    /// - Throws: `storeUnavailable` when there is no home directory to put it in, or when root
    ///   would make it in another user's home, where the user could neither open nor remove it.
    package static func resolve(environment: [String: String]) throws(LonghaulError) -> String {
        let path = try find(environment: environment)
        if geteuid() == 0, let owner = ownerOfNearest(path), owner != 0,
            environment["LONGHAUL_HOME"].map({ $0.isEmpty }) ?? true
                || environment["SUDO_UID"] == String(owner)
        {
            throw refusal(
                "this runs as root, and \(TerminalText.shown(path)) would be root's in a place of"
                    + " user \(owner): run it as that user, let sudo set HOME (sudo -H), or"
                    + " \(advice)")
        }
        return path
    }

    /// The owner of the directory, or of the nearest one above it that exists.
    private static func ownerOfNearest(_ path: String) -> UInt32? {
        var path = Substring(path)
        var facts = stat()
        while stat(String(path), &facts) != 0 {
            guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return nil }
            path = path[..<slash]
        }
        return facts.st_uid
    }

    private static func find(environment: [String: String]) throws(LonghaulError) -> String {
        // An empty variable counts as unset, as in the XDG Base Directory Specification.
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

/// The user's directories for programs, by the XDG Base Directory Specification.
package enum UserDirectories {
    /// `$XDG_CONFIG_HOME`, else `~/.config`; `nil` when there is no home directory.
    package static func configuration(environment: [String: String]) -> String? {
        // Relative paths there are invalid and to be ignored (same specification).
        if let chosen = environment["XDG_CONFIG_HOME"], chosen.isAbsolutePath { return chosen }
        return home(environment: environment).map { PathParts.join($0, ".config") }
    }

    /// `$HOME`, else from the user database.
    package static func home(environment: [String: String]) -> String? {
        let named = environment["HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? entry(\.pw_dir)
        return named.flatMap { $0.isAbsolutePath ? $0 : nil }
    }

    /// The directory for downloads: what `user-dirs.dirs` says (xdg-user-dirs), else
    /// `~/Downloads`. It need not exist. `nil` when there is no home directory.
    package static func downloads(environment: [String: String]) -> String? {
        guard let home = home(environment: environment) else { return nil }
        let list = configuration(environment: environment).flatMap {
            try? TextFile.text(PathParts.join($0, "user-dirs.dirs"))
        }
        return list.flatMap { downloads(listedIn: $0, home: home) }
            ?? PathParts.join(home, "Downloads")
    }

    /// Reads `XDG_DOWNLOAD_DIR="$HOME/NAME"` or `"/PATH"`; of several the last counts. `nil`: not
    /// set; or it is the home directory, which stands for no directory (user-dirs.dirs(5)), or
    /// contains it.
    static func downloads(listedIn text: String, home: String) -> String? {
        let prefix = "XDG_DOWNLOAD_DIR=\""
        let lines = text.utf8.split(separator: UInt8(ascii: "\n")).map { Substring($0) }
        guard
            let line = lines.map(\.trimmingBlanks).last(where: { $0.hasPrefix(prefix) }),
            let end = line.lastIndex(of: "\"")
        else { return nil }
        var value = ""
        var isEscaped = false
        for character in line[..<end].dropFirst(prefix.count) {
            isEscaped = character == "\\" && !isEscaped
            if !isEscaped { value.append(character) }
        }
        if value.hasPrefix("$HOME/") {
            value = PathParts.join(home, String(value.dropFirst("$HOME/".count)))
        }
        let holdsHome = PathParts.names(in: home).starts(with: PathParts.names(in: value))
        return value.isAbsolutePath && !holdsHome
            ? PathParts.withoutSlashes(PathParts.plain(value)) : nil
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

/// The directory against which relative paths are resolved. Read once: neither the library nor the
/// command changes it.
package enum CurrentDirectory {
    package static var path: String {
        get throws(LonghaulError) { try found.get() }
    }

    /// A path as a user gives it, made absolute: the engine may run elsewhere.
    package static func absolute(_ path: String) throws(LonghaulError) -> String {
        if path.isAbsolutePath { return PathParts.plain(path) }
        var rest = Substring(path)
        while rest.hasPrefix("./") { rest = rest.dropFirst(2) }
        let directory = try Self.path
        if rest.isEmpty || rest == "." { return directory }
        return PathParts.plain(PathParts.join(directory, String(rest)))
    }

    /// True if a program of this user could work in the directory.
    package static func mayBe(_ path: String) -> Bool {
        var facts = stat()
        return stat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFDIR
            && access(path, X_OK) == 0
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
