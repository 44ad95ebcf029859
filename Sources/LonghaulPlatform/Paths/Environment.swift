internal import CLonghaul
internal import Glibc
package import LonghaulModel

/// The environment of this process. Only this type reads it; other code gets values as parameters.
package enum Environment {
    /// `nil` if the variable is not set. An empty value is a value.
    package static func value(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// Every variable. Invalid UTF-8 is repaired.
    package static func all() -> [String: String] {
        var found: [String: String] = [:]
        guard var next = lh_environment() else { return found }
        while let entry = next.pointee {
            let text = String(cString: entry)
            if let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) {
                let value = text.utf8.index(after: equals)
                found[String(text[..<equals])] = String(text[value...])
            }
            next += 1
        }
        return found
    }

    /// Sets a variable, for this process and its child processes.
    package static func set(_ name: String, to value: String) { setenv(name, value, 1) }

    /// Unsets variables, for this process and its child processes.
    package static func remove(_ names: [String]) {
        for name in names { unsetenv(name) }
    }

    /// Refuses paths that are not valid UTF-8: a repaired path would be another path.
    ///
    /// - Parameter names: the variables that may contain the path, in this order; the error names
    ///   the first as the one to set. Variables after the deciding one do not matter.
    package static func checkPath(
        in names: [String], _ code: LonghaulError.Code = .invalidRequest
    ) throws(LonghaulError) {
        for name in names {
            guard let value = getenv(name), value.pointee != 0 else { continue }
            // A relative path in an XDG variable is ignored (XDG Base Directory Specification).
            if value.pointee != 0x2F, !name.hasPrefix("LONGHAUL_") { continue }
            let bytes = UnsafeRawBufferPointer(start: value, count: strlen(value))
            if String(validating: bytes, as: UTF8.self) != nil { return }
            throw LonghaulError(
                code,
                "\(name) is '\(TerminalText.shown(bytes: bytes))', which is not UTF-8; set"
                    + " \(names[0]) to a path that is")
        }
    }

    /// `NAME=VALUE` for a program that is started. A value of the own environment keeps its
    /// original bytes.
    static func entry(_ name: String, _ value: String) -> [CChar] {
        guard let own = getenv(name), String(cString: own) == value else {
            return Array("\(name)=\(value)".utf8CString)
        }
        return "\(name)=".utf8CString.dropLast()
            + UnsafeBufferPointer(start: own, count: strlen(own) + 1)
    }
}
