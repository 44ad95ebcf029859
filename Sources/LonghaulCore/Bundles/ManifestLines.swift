internal import LonghaulModel

extension LonghaulError {
    static func invalidManifest(_ message: String) -> LonghaulError {
        LonghaulError(.invalidManifest, message)
    }

    /// - Parameter line: Counted from 1.
    static func invalidManifest(line: Int, _ problem: String) -> LonghaulError {
        invalidManifest("line \(line) of the list: \(problem); correct the list")
    }

    static let tooManyFiles = LonghaulError(
        .tooLarge,
        "the list has more than \(ManifestLimits.files) files; leave some out at the source")

    static let emptyManifest = invalidManifest("the list has no file; check the source")
}

/// Calls `read` with the number and the bytes of every line, without its end (LF or CRLF).
func forEachLine(
    of bytes: ArraySlice<UInt8>,
    _ read: (Int, ArraySlice<UInt8>) throws(LonghaulError) -> Void
) throws(LonghaulError) {
    var number = 0
    var rest = bytes
    // The mark that some editors put first (U+FEFF).
    if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
    while !rest.isEmpty {
        number += 1
        let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
        var line = rest[..<end]
        if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
        try read(number, line)
        rest = rest[min(end + 1, rest.endIndex)...]
    }
}

extension ArraySlice<UInt8> {
    var isBlank: Bool { allSatisfy(\.isBlank) }

    var withoutTrailingBlanks: ArraySlice<UInt8> {
        self[..<(lastIndex { !$0.isBlank }.map { $0 + 1 } ?? startIndex)]
    }
}
