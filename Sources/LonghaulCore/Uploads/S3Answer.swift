/// Names of objects and uploads as they stand in a URL.
package enum S3Key {
    /// Percent-encoded as the signature wants it (RFC 3986 §2.3); what is encoded already is
    /// decoded first, once.
    package static func escaped(_ text: String) -> String {
        PercentEncoding.encode(PercentEncoding.decode(text), keeping: [UInt8(ascii: "/")])
    }

    static func escaped(id: String) -> String { PercentEncoding.encode(id.utf8) }
}

/// What the answers of S3 say.
enum S3Answer {
    /// The text of the first element of that name.
    static func element(_ name: String, in body: [UInt8]) -> String? {
        let text = String(decoding: body, as: UTF8.self)
        guard let open = text.firstRange(of: "<\(name)>"),
            let close = text[open.upperBound...].firstRange(of: "</\(name)>")
        else { return nil }
        return String(text[open.upperBound..<close.lowerBound])
    }

    /// Whether the keys were good once (Amazon S3 API Reference, "List of error codes").
    static func tellsOfOldKeys(_ body: [UInt8]) -> Bool {
        ["ExpiredToken", "InvalidToken", "TokenRefreshRequired"]
            .contains(element("Code", in: body))
    }

    /// Whether the object has that length, and was made of so many parts in an upload that began at
    /// that moment by the server's clock: the one before may have had the same length.
    static func isObject(
        _ head: ResponseHead, size: Int64, parts: Int, since begun: Timestamp?
    ) -> Bool {
        guard head.isSuccess, case .bytes(size) = head.headers.contentLength,
            head.headers.single("ETag")?.hasSuffix("-\(parts)\"") == true
        else { return false }
        guard let begun, let modified = head.date("Last-Modified") else { return true }
        // Amazon dates an object by the beginning of its upload, before the answer to that.
        return begun - modified <= Limits.uploadBeginSeconds
    }

    /// One page of the parts of an upload; `nil` = the answer is none.
    static func parts(in body: [UInt8]) -> S3PartList? {
        let text = String(decoding: body, as: UTF8.self)
        // moto has another end of the name.
        guard text.firstRange(of: "<ListParts") != nil else { return nil }
        var list = S3PartList()
        var rest = Substring(text)
        while let open = rest.firstRange(of: "<Part>"),
            let close = rest[open.upperBound...].firstRange(of: "</Part>")
        {
            let part = Array(rest[open.upperBound..<close.lowerBound].utf8)
            rest = rest[close.upperBound...]
            guard let number = element("PartNumber", in: part).flatMap({ Int($0) }), number > 0,
                let size = element("Size", in: part).flatMap({ Int64($0) }),
                let tag = element("ETag", in: part)
            else { return nil }
            list.parts.append(S3PartList.Part(number: number, size: size, tag: unescaped(tag)))
        }
        // An answer may be longer than what is kept of it: what is missing is asked for.
        let isCut = rest.firstRange(of: "</ListParts") == nil
        if isCut || element("IsTruncated", in: body) == "true" {
            guard let last = list.parts.last?.number else { return nil }
            list.next = last
        }
        return list
    }

    /// Of the characters that stand in entity tags.
    private static func unescaped(_ text: String) -> String {
        var result = text
        for (escape, character) in [("&quot;", "\""), ("&#34;", "\""), ("&amp;", "&")] {
            while let range = result.firstRange(of: escape) {
                result.replaceSubrange(range, with: character)
            }
        }
        return result
    }
}

/// Parts that a server has, in order.
struct S3PartList: Hashable {
    struct Part: Hashable {
        var number: Int
        var size: Int64
        var tag: String
    }

    var parts: [Part] = []
    /// There are more, after this one.
    var next: Int?
}

extension ResponseHead {
    func date(_ field: String) -> Timestamp? {
        headers.single(field).flatMap { HTTPDate.parse($0, now: receivedAt) }
    }
}
