internal import CLonghaul
internal import Glibc
package import LonghaulCore

/// The environment of this process. The one place that reads it; everything else is told.
package enum Environment {
    /// `nil` when the variable is not set. Set but empty is a value.
    package static func value(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// Every variable. Text that is not UTF-8 is repaired.
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

    /// Refuses paths that cannot be kept as text: repaired, each would be another one.
    ///
    /// - Parameter names: the variables that a path is looked for in, the first of them being the
    ///   one to set; those behind the one that decides do not matter.
    package static func checkPath(
        in names: [String], _ code: LonghaulError.Code = .invalidRequest
    ) throws(LonghaulError) {
        for name in names {
            guard let value = getenv(name), value.pointee != 0 else { continue }
            // Relative, the others are to be ignored (XDG Base Directory Specification).
            if value.pointee != 0x2F, !name.hasPrefix("LONGHAUL_") { continue }
            let bytes = UnsafeRawBufferPointer(start: value, count: strlen(value))
            if String(validating: bytes, as: UTF8.self) != nil { return }
            throw LonghaulError(
                code,
                "\(name) is '\(TerminalText.shown(bytes: bytes))', which is not UTF-8; set"
                    + " \(names[0]) to a path that is")
        }
    }

    /// `NAME=VALUE` for a program that is started: what is handed on as it was found keeps its
    /// bytes.
    static func entry(_ name: String, _ value: String) -> [CChar] {
        guard let own = getenv(name), String(cString: own) == value else {
            return Array("\(name)=\(value)".utf8CString)
        }
        return "\(name)=".utf8CString.dropLast()
            + UnsafeBufferPointer(start: own, count: strlen(own) + 1)
    }
}
