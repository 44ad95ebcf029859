internal import Glibc
internal import LonghaulModel

/// The bytes of the store's identifier that are part of a part file's name.
private let storeTagBytes = 8

/// Operations on the text of paths. They make no system call; only `/` and byte counts matter.
package enum PathParts {
    /// The longest file name on Linux, in bytes.
    package static let nameBytesMax = Limits.fileNameBytes
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

    /// An absolute path in normal form: `/a//b/./c` → `/a/b/c`. A trailing slash stays. `..` stays
    /// too: after a link it leads elsewhere than to the preceding directory.
    package static func plain(_ path: String) -> String {
        if isPlain(path) { return path }
        let names = names(in: path).filter { $0 != "." }
        let end = path.utf8.last == UInt8(ascii: "/") && !names.isEmpty ? "/" : ""
        return "/" + names.joined(separator: "/") + end
    }

    /// True if no slash is followed by another slash, or by a dot and a slash. It works byte by
    /// byte, because a list may have a million paths.
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
    package static func withoutSlashes(_ path: String) -> String {
        var bytes = path.utf8[...]
        while bytes.count > 1, bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
        return String(Substring(bytes))
    }

    /// The path without links; a path that leads nowhere stays.
    package static func resolved(_ path: String) -> String {
        guard let found = realpath(path, nil) else { return path }
        defer { free(found) }
        return String(cString: found)
    }

    /// The names in a path, unchanged.
    package static func names(in path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
    }

    /// `NAME` + `suffix`, with NAME shortened where the whole would not fit in beside it.
    package static func fitted(_ name: String, prefix: String = "", suffix: String) -> String {
        let room = FileNaming.bytesMax(besides: name) - prefix.utf8.count - suffix.utf8.count
        return prefix + FileNaming.prefix(name, bytesMax: room) + suffix
    }
}

/// A name that a part file may have.
package struct PartName: Hashable, Sendable {
    package var text: String
    /// The name is unique to one store: an unused file under it is a leftover of this store.
    package var isOneStores: Bool

    package init(_ text: String, isOneStores: Bool = false) {
        self.text = text
        self.isOneStores = isOneStores
    }
}

/// `.NAME.ID.longhaul-part`, with NAME shortened so that the whole fits where NAME fits, and the
/// alternatives if that name is taken: other stores count their transfers from one as well. Each
/// name is made on access, because hardly any but the first is needed.
package struct PartNames: RandomAccessCollection, Sendable {
    private let name: String
    private let id: Int64
    private let number: Int
    private let store: String

    /// - Parameters:
    ///   - number: How many part files of the transfer may be in use elsewhere.
    ///   - store: The identifier that distinguishes the store from others.
    package init(for name: String, id: Int64, number: Int = 0, store: String) {
        self.name = name
        self.id = id
        self.number = number
        self.store = store
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { 3 }

    package subscript(index: Int) -> PartName {
        let which = number > 0 ? "\(id)-\(number)" : "\(id)"
        if index == 0 { return PartName(named(which)) }
        let tag = store.prefix(storeTagBytes)
        // The last name is for the case that this store itself has the second one open.
        let again = index == 1 ? "" : "b"
        return PartName(named("\(which)\(again).\(tag)"), isOneStores: !tag.isEmpty)
    }

    private func named(_ middle: String) -> String {
        PathParts.fitted(name, prefix: ".", suffix: ".\(middle).longhaul-part")
    }

}
