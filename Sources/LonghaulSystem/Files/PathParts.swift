internal import LonghaulCore

/// Text work on paths: no call is made, and nothing but `/` and byte counts has a meaning.
package enum PathParts {
    /// The longest name that Linux file systems take, in bytes.
    package static let nameBytesMax = Limits.fileNameBytes
    /// The longest path that Linux takes, in bytes: PATH_MAX without the zero at its end.
    package static let pathBytesMax = 4095

    /// `/a/b` → (`/a`, `b`), `/a` → (`/`, `a`), `a` → (`.`, `a`). `nil` when the path ends in no
    /// name.
    package static func split(_ path: String) -> (directory: String, name: String)? {
        let bytes = path.utf8
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else {
            return isFileName(path) ? (".", path) : nil
        }
        let name = String(path[bytes.index(after: slash)...])
        guard isFileName(name) else { return nil }
        return (slash == bytes.startIndex ? "/" : String(path[..<slash]), name)
    }

    package static func join(_ directory: String, _ name: String) -> String {
        directory.utf8.last == UInt8(ascii: "/") ? directory + name : directory + "/" + name
    }

    /// An absolute path with one spelling: `/a//b/./c` → `/a/b/c`. What ends in a slash goes on
    /// doing so, and `..` stays: through a link it leads elsewhere than to what is written before
    /// it.
    package static func plain(_ path: String) -> String {
        if isPlain(path) { return path }
        let names = names(in: path).filter { $0 != "." }
        let end = path.utf8.last == UInt8(ascii: "/") && !names.isEmpty ? "/" : ""
        return "/" + names.joined(separator: "/") + end
    }

    /// No slash is followed by another, or by a dot and a slash: byte by byte, because a million
    /// paths of a list are asked in a row.
    private static func isPlain(_ path: String) -> Bool {
        let (slash, dot) = (UInt8(ascii: "/"), UInt8(ascii: "."))
        var (last, beforeLast): (UInt8, UInt8) = (0, 0)
        for byte in path.utf8 {
            if byte == slash, last == slash || last == dot && beforeLast == slash { return false }
            (last, beforeLast) = (byte, last)
        }
        return true
    }

    /// Without the slashes at its end; `/` stays.
    static func withoutSlashes(_ path: String) -> String {
        var bytes = path.utf8[...]
        while bytes.count > 1, bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
        return String(Substring(bytes))
    }

    /// The names in a path, as they are written.
    package static func names(in path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
    }

    /// `NAME` + `suffix`, with NAME shortened where the whole would not fit into one name.
    package static func fitted(_ name: String, suffix: String) -> String {
        FileNaming.prefix(name, bytesMax: nameBytesMax - suffix.utf8.count) + suffix
    }
}
