internal import LonghaulModel

/// The text of a document that has its signature in it: of the cleartext framework (RFC 9580 §7) or
/// of signify(1). Only the signed part counts.
struct SignedText {
    /// `nil` = no signature is in it.
    private(set) var form: SignatureForm?
    private(set) var text: [UInt8]
    /// Number of the document's line that is the first of the text.
    private(set) var firstLine = 1

    private static let begin = Array("-----BEGIN PGP SIGNED MESSAGE-----".utf8)
    private static let signature = Array("-----BEGIN PGP SIGNATURE-----".utf8)
    private static let end = Array("-----END PGP SIGNATURE-----".utf8)
    private static let comment = Array("untrusted comment:".utf8)

    init(_ document: [UInt8]) throws(LonghaulError) {
        text = document
        let start = document.drop { $0.isBlank || $0 == 0x0A || $0 == 0x0D }
        if start.starts(with: Self.begin) {
            form = .openPGP
            try readCleartext(document)
        } else if document.starts(with: Self.comment) {
            form = .signify
            // The comment and the signature.
            var rest = document[...]
            for _ in 0..<2 {
                rest = rest.drop { $0 != UInt8(ascii: "\n") }.dropFirst()
            }
            (text, firstLine) = (Array(rest), 3)
        }
    }

    private enum Part { case before, header, text, signature, after }

    private mutating func readCleartext(_ document: [UInt8]) throws(LonghaulError) {
        var part = Part.before
        var signed: [UInt8] = []
        var first = 1
        try forEachLine(of: document[...]) { number, line throws(LonghaulError) in
            // Blanks at the end of a line are not signed.
            let line = line.withoutTrailingBlanks
            switch part {
            case .before:
                // A program that checks the signature begins nowhere else.
                if line.elementsEqual(Self.begin) {
                    part = .header
                } else if !line.isEmpty {
                    throw .invalidManifest(line: number, "text stands before the signed message")
                }
            case .header:
                if line.isEmpty { (part, first) = (.text, number + 1) }
            case .text where line.elementsEqual(Self.signature): part = .signature
            case .text:
                // RFC 9580 §7.1.
                signed += line.starts(with: Array("- ".utf8)) ? line.dropFirst(2) : line
                signed.append(UInt8(ascii: "\n"))
            case .signature: if line.elementsEqual(Self.end) { part = .after }
            case .after:
                // It would look signed, and is not.
                if !line.isEmpty {
                    throw .invalidManifest(line: number, "text follows the signature")
                }
            }
        }
        if part != .after { throw .invalidManifest("the signature in the list has no end") }
        (text, firstLine) = (signed, first)
    }
}
