internal import LonghaulSystem

/// Paths as users give them, made absolute: the engine may run elsewhere.
enum WorkingDirectory {
    static func absolute(_ path: String) -> String {
        if path.utf8.first == UInt8(ascii: "/") { return PathParts.plain(path) }
        var rest = Substring(path)
        while rest.hasPrefix("./") { rest = rest.dropFirst(2) }
        let directory = CurrentDirectory.path
        if rest.isEmpty || rest == "." { return directory }
        return PathParts.plain(PathParts.join(directory, String(rest)))
    }
}
