package import LonghaulCore

extension TransferResponse {
    /// The answer to an upload. Its body is text, or `bodyBase64` where it is no UTF-8.
    package func write(to json: inout JSONText) {
        json.field("status", statusCode)
        json.field("headers") { object in
            var seen: Set<String> = []
            for name in headers.fields.map(\.name)
            where seen.insert(name.lowercased()).inserted {
                object.field(named: name, headers.values(name).joined(separator: ", "))
            }
        }
        if let body, let text = String(validating: body, as: UTF8.self) {
            json.field("body", text)
        } else {
            json.field("bodyBase64", bodyBase64)
        }
    }
}
