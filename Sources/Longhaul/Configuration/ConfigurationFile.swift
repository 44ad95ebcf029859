internal import LonghaulCore
internal import LonghaulPlatform

/// The configuration file: `$LONGHAUL_CONFIG`, else `longhaul/config.json` in the user's directory
/// for configuration.
package enum ConfigurationFile {
    /// The path of the file, whether it exists or not; `nil` = there is no place for one.
    package static var path: String? {
        get throws(LonghaulError) {
            try Environment.checkPath(in: ["LONGHAUL_CONFIG", "XDG_CONFIG_HOME", "HOME"])
            return try named ?? standard
        }
    }

    /// The same, if it is there.
    package static var inForce: String? {
        (try? path).flatMap { FileInspection.entry(at: $0) == .missing ? nil : $0 }
    }

    /// Tells whether the file is there and understood.
    static func finding() -> DoctorFinding {
        do {
            let found = try read()
            return DoctorFinding(
                check: "configuration", ok: true, detail: found.path ?? "no file: all is default",
                fix: nil)
        } catch {
            return DoctorFinding(
                check: "configuration", ok: false, detail: error.message,
                fix: "mend the file; docs/configuration.md says what may stand in it")
        }
    }

    /// The path in `$LONGHAUL_CONFIG`, absolute.
    static var named: String? {
        get throws(LonghaulError) {
            guard let path = Environment.value("LONGHAUL_CONFIG"), !path.isEmpty else { return nil }
            return try CurrentDirectory.absolute(path)
        }
    }

    private static var standard: String? {
        UserDirectories.configuration(environment: Environment.all()).map {
            PathParts.join($0, "longhaul/config.json")
        }
    }

    /// Reads the file. Without one all values are defaults; a named file must exist.
    ///
    /// - Throws: `invalidRequest` with file, key and allowed values.
    package static func read() throws(LonghaulError) -> UserConfiguration {
        guard let path = try path else { return UserConfiguration() }
        let bytes: [UInt8]?
        do {
            bytes = try TextFile.read(path)
        } catch {
            throw problem(path, "it cannot be read: \(error.reason)")
        }
        guard let bytes else {
            if try named == nil { return UserConfiguration() }
            throw problem(path, "there is no such file; LONGHAUL_CONFIG names it")
        }
        return try parse(bytes, path)
    }

    package static func parse(
        _ bytes: [UInt8], _ path: String
    ) throws(LonghaulError) -> UserConfiguration {
        let bytes = withoutComments(
            bytes.starts(with: byteOrderMark) ? Array(bytes.dropFirst(3)) : bytes)
        var configuration = UserConfiguration()
        configuration.path = path
        for (name, raw) in try members(bytes, path) {
            guard let key = UserConfiguration.keys.first(where: { $0.name == name }) else {
                throw unknown(name, path)
            }
            let value = ConfigurationValue(raw: raw)
            if !key.set(value, &configuration) {
                throw problem(path, "'\(name)' is \(raw); it is \(key.allowed)")
            }
        }
        return configuration
    }

    /// Some editors begin a file with it.
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// Lines that begin with `//` are comments. No text of JSON goes over a line, so none is cut.
    private static func withoutComments(_ bytes: [UInt8]) -> [UInt8] {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let kept = lines.map { line in
            let text = line.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            return text.starts(with: "//".utf8) ? [] : line
        }
        return Array(kept.joined(separator: [UInt8(ascii: "\n")]))
    }

    /// Every value, unparsed, by its full name.
    private static func members(
        _ bytes: [UInt8], _ path: String
    ) throws(LonghaulError) -> [(name: String, raw: String)] {
        var found: [(name: String, raw: String)] = []
        var opened = Set<String>()
        var twice: String?
        do {
            try bytes.withUnsafeBufferPointer { bytes in
                var scanner = JSONScanner(bytes)
                try scanner.object { name, scanner in
                    guard groups.contains(name) else {
                        return found.append((name, try scanner.raw()))
                    }
                    if !opened.insert(name).inserted { twice = twice ?? name }
                    try scanner.object { key, scanner in
                        found.append(("\(name).\(key)", try scanner.raw()))
                    }
                }
                try scanner.end()
            }
        } catch {
            throw problem(path, "it is not valid JSON: \(error)")
        }
        var names = Set<String>()
        for (name, _) in found where !names.insert(name).inserted { twice = twice ?? name }
        if let twice { throw problem(path, "'\(twice)' is there twice") }
        return found
    }

    private static let groups = Set(
        UserConfiguration.keys.compactMap { key in
            key.name.contains(".") ? key.name.split(separator: ".").first.map(String.init) : nil
        })

    private static func unknown(_ name: String, _ path: String) -> LonghaulError {
        let group = name.split(separator: ".").first.map(String.init) ?? ""
        let all = UserConfiguration.keys.map(\.name)
        let near = all.filter { $0.hasPrefix(group + ".") }
        let names = (near.isEmpty ? all : near).joined(separator: ", ")
        return problem(path, "'\(name)' is not known; there are \(names)")
    }

    private static func problem(_ path: String, _ what: String) -> LonghaulError {
        LonghaulError(.invalidRequest, "\(path): \(what)")
    }
}
