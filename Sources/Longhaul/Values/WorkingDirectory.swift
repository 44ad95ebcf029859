internal import LonghaulCore
internal import LonghaulPlatform

/// Paths as users give them, made absolute: the engine may run elsewhere.
package enum WorkingDirectory {
    package static var path: String {
        get throws(LonghaulError) { try CurrentDirectory.path }
    }

    static func absolute(_ path: String) throws(LonghaulError) -> String {
        if path.isAbsolutePath { return PathParts.plain(path) }
        var rest = Substring(path)
        while rest.hasPrefix("./") { rest = rest.dropFirst(2) }
        let directory = try CurrentDirectory.path
        if rest.isEmpty || rest == "." { return directory }
        return PathParts.plain(PathParts.join(directory, String(rest)))
    }
}
