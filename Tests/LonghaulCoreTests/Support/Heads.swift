import LonghaulCore

let receivedAt = Timestamp(milliseconds: 1_700_000_000_000)

/// A head in one line: status, then `Name: value` fields.
func head(
    _ status: Int, _ fields: String..., scheme: ResponseHead.Scheme = .http
) -> ResponseHead {
    var headers = HeaderFields()
    for field in fields {
        let parts = field.split(separator: ":", maxSplits: 1)
        headers.append(
            name: String(parts[0]), value: String(parts[1].drop(while: { $0 == " " })))
    }
    return ResponseHead(
        scheme: scheme, status: status, headers: headers, effectiveURL: "http://example.org/f",
        receivedAt: receivedAt)
}
