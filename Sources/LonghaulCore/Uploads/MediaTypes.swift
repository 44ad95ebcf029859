/// Media types by the endings of file names, from a list that the system keeps. Pure.
package struct MediaTypes: Sendable {
    /// Endings in lower case, without their dot.
    private var types: [String: String] = [:]

    /// Reads a `mime.types`: in each line a type, then the endings of its names.
    package init(mimeTypes text: [UInt8]) {
        for line in text.split(separator: UInt8(ascii: "\n")) {
            if line.first == UInt8(ascii: "#") { continue }
            let words = line.split { $0.isBlank || $0 == UInt8(ascii: "\r") }
            for ending in words.dropFirst() { add(ending, words[0]) }
        }
    }

    /// Reads a `globs2` (Shared MIME-info Database): in each line a weight, a type and a pattern,
    /// the heaviest first. Only patterns like `*.ending` are used, and none in which case counts.
    package init(globs text: [UInt8]) {
        for line in text.split(separator: UInt8(ascii: "\n")) {
            if line.first == UInt8(ascii: "#") { continue }
            let fields = line.split(separator: UInt8(ascii: ":"))
            guard fields.count == 3, fields[2].starts(with: "*.".utf8) else { continue }
            add(fields[2].dropFirst(2), fields[1])
        }
    }

    /// The first line about an ending counts.
    private mutating func add(_ ending: ArraySlice<UInt8>, _ type: ArraySlice<UInt8>) {
        let isPlain = type.allSatisfy { (0x21...0x7E).contains($0) }
        guard isPlain, type.contains(UInt8(ascii: "/")) else { return }
        let ending = String(decoding: ending, as: UTF8.self).lowercased()
        if types[ending] == nil { types[ending] = String(decoding: type, as: UTF8.self) }
    }

    /// The type of the longest ending that is known: `tar.gz` before `gz`. `nil` = none is.
    package func type(of name: String) -> String? {
        // A dot at the start hides the file.
        var rest = Substring(name.lowercased()).dropFirst()
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            if let type = types[String(rest)] { return type }
        }
        return nil
    }
}

extension UploadJob {
    /// The type that the user names, else that of the file's name.
    var mediaType: String {
        options.contentType ?? request.options.headers["Content-Type"] ?? options.source?.mediaType
            ?? "application/octet-stream"
    }
}
