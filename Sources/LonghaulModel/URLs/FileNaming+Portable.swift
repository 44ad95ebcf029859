/// A name of this length fits everywhere: eCryptfs, and Synology with it, has 143 bytes.
private let portableNameBytes = 120

/// Names that file systems with other rules refuse: NTFS, exFAT and SMB some characters and the
/// names of devices (Microsoft, "Naming Files, Paths, and Namespaces"), eCryptfs and EncFS long
/// ones.
extension FileNaming {
    /// True if each of these file systems has files of this name. A directory on one that does not
    /// may still have them.
    package static func isPortable(_ name: String) -> Bool {
        guard name.utf8.count <= portableNameBytes, let last = name.utf8.last,
            last != UInt8(ascii: "."), last != UInt8(ascii: " ")
        else { return false }
        return !name.utf8.contains(where: isReserved) && !isDevice(deviceStem(Array(name.utf8)))
    }

    /// The name with `_` for characters that they refuse, and cut to the limit of each.
    package static func portable(_ name: String) -> String {
        var bytes = name.utf8.map { isReserved($0) ? underscore : $0 }
        var end = bytes.count
        while end > 0, bytes[end - 1] == UInt8(ascii: ".") || bytes[end - 1] == UInt8(ascii: " ") {
            end -= 1
            bytes[end] = underscore
        }
        // Behind the blanks it would be cut off again.
        let stem = deviceStem(bytes)
        if isDevice(stem) { bytes.insert(underscore, at: stem.endIndex) }
        let whole = String(decoding: bytes, as: UTF8.self)
        let short = shortened(whole, toBytes: portableNameBytes)
        return isPortable(short) || short.isEmpty ? short : portable(short)
    }

    /// A name for each rule: a file system that has files of these names accepts any name.
    package static let peculiar = [
        "CON", "a<b>c:d\"e|f?g*h\\i\u{1}.", "a ",
        String(repeating: "n", count: Limits.fileNameBytes),
    ]

    /// The length of a name that is made of another one, as that of its part file is: where that
    /// one fits, so does this one.
    package static func bytesMax(besides name: String) -> Int {
        min(max(name.utf8.count, portableNameBytes), Limits.fileNameBytes)
    }

    private static let underscore = UInt8(ascii: "_")

    private static func isReserved(_ byte: UInt8) -> Bool {
        switch byte {
        case 0..<0x20, 0x7F: true
        case UInt8(ascii: "\""), UInt8(ascii: "*"), UInt8(ascii: ":"), UInt8(ascii: "<"): true
        case UInt8(ascii: ">"), UInt8(ascii: "?"), UInt8(ascii: "\\"), UInt8(ascii: "|"): true
        default: false
        }
    }

    /// The text before the first dot, without blanks at its end: it decides whether the name is a
    /// device's.
    private static func deviceStem(_ name: [UInt8]) -> ArraySlice<UInt8> {
        var stem = name.prefix { $0 != UInt8(ascii: ".") }
        while stem.last == UInt8(ascii: " ") { stem.removeLast() }
        return stem
    }

    /// The stem of `CON`, `con.txt`, `Lpt1 .log`.
    private static func isDevice(_ stem: ArraySlice<UInt8>) -> Bool {
        let word = String(decoding: stem, as: UTF8.self)
        switch stem.count {
        case 3: return ["con", "prn", "aux", "nul"].contains { word.equalsIgnoringCase($0) }
        case 4:
            guard (UInt8(ascii: "1")...UInt8(ascii: "9")).contains(stem.last ?? 0) else {
                return false
            }
            return ["com", "lpt"].contains { word.dropLast().equalsIgnoringCase($0) }
        default: return false
        }
    }
}
