package import Foundation
import Glibc

/// A fresh, empty directory (mode 0700) that is removed with its content when the value is
/// released. It is made in `LONGHAUL_TEST_SCRATCH`, or else in `TMPDIR`.
package final class Scratch: Sendable {
    /// Absolute, without symbolic links.
    package let path: String

    package init(_ purpose: String = "test") throws {
        let environment = ProcessInfo.processInfo.environment
        let parent = environment["LONGHAUL_TEST_SCRATCH"] ?? environment["TMPDIR"] ?? "/tmp"
        var template = Array("\(parent)/longhaul-\(purpose)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil, let resolved = realpath(template, nil) else {
            throw SystemFailure("mkdtemp in \(parent)")
        }
        defer { free(resolved) }
        path = String(cString: resolved)
    }

    deinit {
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            // Not a fault of the tested code, but not to be ignored either.
            FileHandle.standardError.write(Data("\(path) is left behind: \(error)\n".utf8))
        }
    }

    /// A path in the directory, whether or not it exists.
    package func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

    /// Makes a directory in this one.
    package func directory(_ name: String) throws -> String {
        let path = self(name)
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
        return path
    }

    /// Writes a file into the directory.
    ///
    /// - Returns: its path.
    @discardableResult
    package func write(_ text: String, to name: String) throws -> String {
        try write(Data(text.utf8), to: name)
    }

    @discardableResult
    package func write(_ data: Data, to name: String) throws -> String {
        let path = self(name)
        guard FileManager.default.createFile(atPath: path, contents: data) else {
            throw SystemFailure("write \(path)")
        }
        return path
    }

    package func text(of name: String) throws -> String {
        let path = self(name)
        guard let data = FileManager.default.contents(atPath: path) else {
            throw SystemFailure("read \(path)")
        }
        return String(decoding: data, as: UTF8.self)
    }

    package func exists(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: self(name))
    }

    /// The names in the directory (or one in it), sorted; hidden ones too.
    package func names(in directory: String = ".") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: self(directory)).sorted()
    }

    /// Bytes in the file; nil if there is none.
    package func size(of name: String) -> Int? {
        var facts = stat()
        return lstat(self(name), &facts) == 0 ? Int(facts.st_size) : nil
    }
}

/// A failed system call of the test support itself.
package struct SystemFailure: Error, CustomStringConvertible {
    package var description: String

    /// Reads `errno`.
    package init(_ what: String) {
        let code = errno
        description = "\(what): \(String(cString: strerror(code)))"
    }

    package init(_ what: String, code: Int32) {
        description = "\(what): \(String(cString: strerror(code)))"
    }
}
