/// Longest extension that a shortened name keeps.
private let fileExtensionBytes = 32

/// File names from outside: from a URL or from a server. The result names a file in its directory
/// and nowhere else, is shown as written, and leaves room for Longhaul's suffixes.
package enum FileNaming {
    /// The name when the source gives none.
    package static let fallback = "download"

    /// Name from the last path segment of the URL, percent-decoded and sanitised.
    package static func name(from url: URLParts) -> String {
        named(by: url) ?? fallback
    }

    /// The name that the URL has to which a redirect led; `nil` = none, or the same.
    package static func name(redirectedTo url: String, from first: String) -> String? {
        guard let target = try? URLParts(url), let name = named(by: target),
            let requested = try? URLParts(first),
            requested.lastPathSegment != target.lastPathSegment
        else { return nil }
        return name
    }

    private static func named(by url: URLParts) -> String? {
        var segment = url.lastPathSegment
        switch url.scheme {
        case .ftp, .ftps:
            // `;type=i` is a request to the client, not part of the name (RFC 1738 §3.2.2).
            if let mark = segment.utf8.lastIndex(of: UInt8(ascii: ";")),
                segment[mark...].equalsIgnoringCase(";type=i")
                    || segment[mark...].equalsIgnoringCase(";type=a")
            {
                segment = segment[..<mark]
            }
        case .http, .https, .sftp: break
        }
        if isPlain(segment) { return String(segment) }
        return sanitised(PercentDecoding.text(segment))
    }

    /// A safe name made of `name`, or `nil` when nothing is left of it.
    ///
    /// Only the text after the last separator counts (`/` and `\`: servers send Windows paths, RFC
    /// 6266 §4.3). Control characters, line separators, bidirectional and other invisible marks are
    /// dropped, as are leading dots and blanks at the ends; invalid UTF-8 bytes become `_`. At most
    /// 220 bytes, the extension kept.
    package static func sanitised(_ name: String) -> String? {
        var scalars = String.UnicodeScalarView()
        for scalar in name.unicodeScalars {
            if scalar == "/" || scalar == "\\" {
                scalars = String.UnicodeScalarView()
            } else if scalar == "\u{FFFD}" {
                scalars.append("_")
            } else if !scalar.isUnfitForDisplay {
                scalars.append(scalar)
            }
        }
        // The loop compares scalars: a dot with a combining mark is another character, and hides
        // the file all the same.
        var text = scalars[...]
        while let first = text.first, first == "." || first.properties.isWhitespace {
            text.removeFirst()
        }
        while let last = text.last, last.properties.isWhitespace { text.removeLast() }
        if text.isEmpty { return nil }
        return shortened(
            String(text), toBytes: Limits.fileNameBytes - Limits.fileNameDecorationBytes)
    }

    /// The name has an extension, and not one of a page.
    package static func isOfNoPage(_ path: String) -> Bool {
        let name = path[(path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex)...]
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")) else { return false }
        let suffix = name[dot...].dropFirst()
        return !suffix.isEmpty && !pages.contains { suffix.equalsIgnoringCase($0) }
    }

    private static let pages = ["html", "htm", "xhtml", "php", "asp", "aspx", "jsp", "cgi"]

    /// `report.pdf` → `report (n).pdf`; `a.tar.gz` → `a (n).tar.gz`; `.profile` → `.profile (n)`.
    /// Fits into one name.
    package static func numbered(_ name: String, _ number: Int) -> String {
        let (stem, suffix) = split(name)
        return shortened(
            stem: stem, suffix: " (\(number))\(suffix)", toBytes: bytesMax(besides: name))
    }

    /// The path before the last slash, or slashes; empty for a file of the root.
    package static func directory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
        var directory = path[..<slash]
        while directory.utf8.last == UInt8(ascii: "/") {
            directory = directory[..<directory.utf8.index(before: directory.endIndex)]
        }
        return String(directory)
    }

    // MARK: Shortening

    /// The whole name when it fits, else its stem cut and its extension kept.
    static func shortened(_ name: String, toBytes limit: Int) -> String {
        if name.utf8.count <= limit { return name }
        let (stem, suffix) = split(name)
        return shortened(stem: stem, suffix: suffix, toBytes: limit)
    }

    private static func shortened(stem: String, suffix: String, toBytes limit: Int) -> String {
        let cut = prefix(stem, bytesMax: limit - suffix.utf8.count)
        if cut.endIndex == stem.endIndex { return stem + suffix }
        // Some file systems drop a blank or a dot at the end of a name.
        let whole = (cut + suffix).unicodeScalars
        let end = whole.lastIndex { $0 != "." && !$0.properties.isWhitespace }
        return end.map { String(whole[...$0]) } ?? String(whole)
    }

    /// The longest beginning of `text` that fits in `bytesMax`.
    ///
    /// Whole characters go: half a letter would be a broken name. Where not even the first one
    /// fits, as a long run of combining marks does not, it is cut between scalars.
    package static func prefix(_ text: String, bytesMax: Int) -> Substring {
        if text.utf8.count <= bytesMax { return text[...] }
        var end = text.utf8.index(text.startIndex, offsetBy: max(0, bytesMax))
        // The scan starts at the front: the end of a flag cannot be found from behind.
        var kept = text.startIndex
        while kept < end {
            let next = text.index(after: kept)
            if next > end { break }
            kept = next
        }
        if kept > text.startIndex { return text[..<kept] }
        while end > text.startIndex, end.samePosition(in: text.unicodeScalars) == nil {
            end = text.utf8.index(before: end)
        }
        return text[..<end]
    }

    /// Stem and extension with its dot. A long one is no extension but part of the name.
    private static func split(_ name: String) -> (stem: String, suffix: String) {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex,
            name.utf8[dot...].count <= fileExtensionBytes
        else { return (name, "") }
        let stem = name[..<dot]
        if stem.utf8.count > 4, stem.suffix(4).equalsIgnoringCase(".tar") {
            return (String(stem.dropLast(4)), String(stem.suffix(4) + name[dot...]))
        }
        return (String(stem), String(name[dot...]))
    }

    /// Nearly all names: nothing to decode, drop or cut.
    private static func isPlain(_ segment: Substring) -> Bool {
        guard let first = segment.utf8.first, first != UInt8(ascii: "."),
            segment.utf8.count <= Limits.fileNameBytes - Limits.fileNameDecorationBytes
        else { return false }
        return segment.utf8.allSatisfy {
            $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "%") && $0 != UInt8(ascii: "\\")
        }
    }
}

/// The name of a file that failed its digest, beside the destination: `NAME.longhaul-bad`.
package enum BadFile {
    package static let suffix = ".longhaul-bad"

    /// The path is such a name, numbered (`.2`) where the plain one was taken.
    package static func isName(_ path: String) -> Bool {
        let number = path.utf8.reversed().prefix { (0x30...0x39).contains($0) }.count
        let plain = number > 0 ? path.utf8.dropLast(number + 1) : path.utf8[...]
        return String(Substring(plain)).hasSuffix(suffix)
    }
}
