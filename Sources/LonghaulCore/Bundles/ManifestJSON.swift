internal import LonghaulModel

/// Bytes that the answers of one conversation may still have.
struct AnswerBudget {
    private(set) var left = ManifestLimits.bytes

    mutating func spend(_ answer: ManifestAnswer) throws(LonghaulError) {
        left -= Int64(answer.body.count)
        if left <= 0 {
            throw LonghaulError(
                .tooLarge,
                "the lists of the source are longer than \(SizeText.shown(ManifestLimits.bytes))")
        }
    }
}

extension LonghaulError {
    static let endlessList = invalidManifest("the server's list does not end; try again later")
}

extension ManifestAnswer {
    /// Reads the body as JSON. What is wrong in it becomes `invalidManifest`.
    func read(_ value: (inout JSONScanner) throws -> Void) throws(LonghaulError) {
        do {
            try body.withUnsafeBufferPointer { bytes in
                var scanner = JSONScanner(bytes)
                try value(&scanner)
                try scanner.end()
            }
        } catch let error as LonghaulError {
            throw error
        } catch {
            throw .invalidManifest(
                "the server's answer cannot be read (\(TerminalText.shown("\(error)"))); check the "
                    + "address of the source")
        }
    }

    func readObject(
        _ field: (String, inout JSONScanner) throws -> Void
    ) throws(LonghaulError) {
        try read { try $0.object(field) }
    }

    /// The next page by the field `Link` (RFC 8288); `nil` = this is the last one.
    func nextPage(of source: BundleSource) throws(LonghaulError) -> String? {
        for value in headers.values("Link") {
            var rest = value[...]
            while let open = rest.firstIndex(of: "<"),
                let close = rest[open...].firstIndex(of: ">")
            {
                let target = rest[rest.index(after: open)..<close]
                rest = rest[rest.index(after: close)...]
                let parameters = rest.prefix { $0 != "<" }
                guard
                    parameters.split(whereSeparator: { $0 == ";" || $0 == "," }).contains(where: {
                        let text = $0.trimmingBlanks.lowercased()
                        return text == "rel=next" || text == "rel=\"next\""
                    })
                else { continue }
                // It would be given the token.
                guard let next = UploadAddress.resolve(String(target), at: url), source.owns(next)
                else {
                    throw .invalidManifest("the server's list continues at another server")
                }
                if next == url { throw .endlessList }
                return next
            }
        }
        return nil
    }
}
