import Foundation

/// What tests and documents read: files below `Fixtures`, by their path there.
package enum Fixture {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Fixtures").standardized

    package static func path(_ name: String) -> String {
        root.appendingPathComponent(name).path
    }

    /// The whole text, with `@NAME@` replaced by the value of that name.
    ///
    /// - Throws: `FixtureFailed` where a value has no place in the text, or a place no value.
    package static func text(_ name: String, _ values: [String: String] = [:]) throws -> String {
        var text = try String(contentsOfFile: path(name), encoding: .utf8)
        for (key, value) in values {
            let mark = "@\(key)@"
            guard text.contains(mark) else {
                throw FixtureFailed(description: "\(name) has no place for \(key)")
            }
            text = text.replacingOccurrences(of: mark, with: value)
        }
        if !values.isEmpty, let open = text.firstMatch(of: /@[A-Z_]{2,}@/) {
            throw FixtureFailed(description: "\(name) needs a value for \(open.output)")
        }
        return text
    }

    /// The text of a file of one line, without its end.
    package static func line(_ name: String) throws -> String {
        String(try text(name).dropLast())
    }
}

/// A fixture, or its program, has failed.
package struct FixtureFailed: Error, CustomStringConvertible {
    package var description: String

    package init(description: String) { self.description = description }
}
