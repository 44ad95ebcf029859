internal import CLonghaul
internal import Glibc

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
            if let equals = text.firstIndex(of: "=") {
                found[String(text[..<equals])] = String(text[text.index(after: equals)...])
            }
            next += 1
        }
        return found
    }
}
