internal import LonghaulSystem

/// Paths as users give them, made absolute: the engine may run elsewhere.
enum WorkingDirectory {
    static func absolute(_ path: String) -> String {
        if path.utf8.first == UInt8(ascii: "/") { return path }
        var rest = Substring(path)
        while rest.hasPrefix("./") { rest = rest.dropFirst(2) }
        let directory = CurrentDirectory.path
        return rest.isEmpty || rest == "." ? directory : PathParts.join(directory, String(rest))
    }
}
