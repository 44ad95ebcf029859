package import LonghaulModel

/// Bytes of a path in a bundle: with its directory it must stay below PATH_MAX.
private let manifestPathBytes = 2_048

/// Paths that a source gives to its files. They come from outside: a file must never be written
/// outside of the bundle's directory, or into another file of the bundle.
package enum ManifestNames {
    /// Why no file may have this path; `nil` = one may.
    package static func problem(of path: String) -> String? {
        if path.isEmpty { return "the name of a file is empty" }
        let shown = TerminalText.shown(String(path.prefix(200)))
        if path.isAbsolutePath { return "the path '\(shown)' is absolute" }
        if path.utf8.count > manifestPathBytes { return "the path '\(shown)…' is too long" }
        if path.unicodeScalars.contains(where: \.isControl) {
            return "the path '\(shown)' has a control character"
        }
        for part in path.utf8.split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        {
            if part.isEmpty { return "the path '\(shown)' has an empty part" }
            if part.elementsEqual(".".utf8) || part.elementsEqual("..".utf8) {
                return "the path '\(shown)' has a part that is '\(Substring(part))'"
            }
            if part.count > Limits.fileNameBytes {
                return "the path '\(shown)' has a name of more than \(Limits.fileNameBytes) bytes"
            }
        }
        return nil
    }

    /// Refuses a set in which two files have one place: equal names, or a file where another one
    /// needs a directory.
    ///
    /// - Parameter foldsCase: The disk does not tell upper from lower case.
    package static func check(
        _ files: [ManifestFile], foldsCase: Bool
    ) throws(LonghaulError) {
        if files.count > ManifestLimits.files { throw .tooManyFiles }
        for file in files {
            if let problem = problem(of: file.path) {
                throw .invalidManifest("\(problem); correct the source")
            }
        }
        // Two strings are equal if they are canonically equivalent: such disks do not tell composed
        // from decomposed letters either.
        if foldsCase {
            try checkPlaces(files) { $0.lowercased() }
        } else {
            try checkPlaces(files) { ExactText($0) }
        }
    }

    private static func checkPlaces<Key: Hashable>(
        _ files: [ManifestFile], _ key: (String) -> Key
    ) throws(LonghaulError) {
        var names: Set<Key> = []
        names.reserveCapacity(files.count)
        for file in files where !names.insert(key(file.path)).inserted {
            throw .invalidManifest(
                "two files have the name \(shown(file.path)) on this disk; rename one at the source"
            )
        }
        var last = ""
        for file in files {
            // Neighbours share their directory.
            var directory = FileNaming.directory(of: file.path)
            if directory.isExactly(last) { continue }
            last = directory
            while !directory.isEmpty {
                if names.contains(key(directory)) {
                    throw .invalidManifest(
                        "\(shown(directory)) is a file and the directory of \(shown(file.path)); "
                            + "rename one at the source")
                }
                directory = FileNaming.directory(of: directory)
            }
        }
    }

    private static func shown(_ path: String) -> String { "'\(TerminalText.shown(path))'" }
}

extension Unicode.Scalar {
    fileprivate var isControl: Bool {
        value < 0x20 || (0x7F...0x9F).contains(value) || value == 0x2028 || value == 0x2029
    }
}
