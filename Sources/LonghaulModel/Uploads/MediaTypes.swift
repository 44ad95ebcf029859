/// Media types by the endings of file names, from a list that the system keeps, or from a built-in
/// one of common types. Pure.
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
    /// the heaviest first. Only patterns like `*.ending` are used, and only case-insensitive ones.
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

extension MediaTypes {
    /// Types of names that are often sent, for a system without a list (containers have none):
    /// values of Debian's list (package `media-types`).
    package static let common = MediaTypes(
        mimeTypes: Array(
            """
            application/epub+zip epub
            application/gzip gz tgz
            application/java-archive jar
            application/json json map
            application/jsonl jsonl
            application/msword doc
            application/ogg ogx
            application/pdf pdf
            application/postscript ps eps
            application/rtf rtf
            application/sql sql
            application/vnd.android.package-archive apk
            application/vnd.debian.binary-package deb
            application/vnd.ms-excel xls
            application/vnd.ms-powerpoint ppt
            application/vnd.oasis.opendocument.presentation odp
            application/vnd.oasis.opendocument.spreadsheet ods
            application/vnd.oasis.opendocument.text odt
            application/vnd.openxmlformats-officedocument.presentationml.presentation pptx
            application/vnd.openxmlformats-officedocument.spreadsheetml.sheet xlsx
            application/vnd.openxmlformats-officedocument.wordprocessingml.document docx
            application/vnd.sqlite3 sqlite sqlite3 db
            application/wasm wasm
            application/x-7z-compressed 7z
            application/x-bzip2 bz2
            application/x-iso9660-image iso
            application/x-rar-compressed rar
            application/x-rpm rpm
            application/x-sh sh
            application/x-tar tar
            application/x-xz xz txz
            application/xhtml+xml xhtml
            application/xml xml xsl xsd
            application/yaml yaml yml
            application/zip zip
            application/zstd zst
            audio/aac aac
            audio/flac flac
            audio/midi mid midi
            audio/mp4 m4a m4b
            audio/mpeg mp3
            audio/ogg ogg oga opus
            audio/x-wav wav
            font/otf otf
            font/ttf ttf
            font/woff woff
            font/woff2 woff2
            image/avif avif
            image/bmp bmp
            image/gif gif
            image/heic heic
            image/heif heif
            image/jpeg jpg jpeg jpe
            image/jxl jxl
            image/png png
            image/svg+xml svg svgz
            image/tiff tif tiff
            image/webp webp
            image/x-adobe-dng dng
            image/x-canon-cr2 cr2
            image/x-icon ico
            image/x-nikon-nef nef
            image/x-sony-arw arw
            message/rfc822 eml
            text/calendar ics
            text/css css
            text/csv csv
            text/html html htm
            text/javascript js mjs
            text/markdown md markdown
            text/plain txt text log conf
            text/tab-separated-values tsv
            text/vcard vcf
            video/3gpp 3gp
            video/mp2t ts m2ts mts
            video/mp4 mp4 m4v
            video/mpeg mpg mpeg
            video/ogg ogv
            video/quicktime mov qt
            video/webm webm
            video/x-matroska mkv
            video/x-ms-wmv wmv
            video/x-msvideo avi
            """.utf8))
}

extension UploadJob {
    /// The type that the user names, else that of the file's name.
    var mediaType: String {
        options.contentType ?? request.options.headers["Content-Type"] ?? options.source?.mediaType
            ?? "application/octet-stream"
    }
}
