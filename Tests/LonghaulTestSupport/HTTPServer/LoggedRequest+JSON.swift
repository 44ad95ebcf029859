import Foundation

extension LoggedRequest {
    /// The request on one line of JSON, header fields in the order in which they came.
    package var jsonLine: String {
        let seconds = endedAt.map { (startedAt.duration(to: $0) / .seconds(1)) }
        var object: [String: Any] = [
            "number": number, "connection": connection, "method": method, "target": target,
            "headers": head.headers.map { [$0.name, $0.value] }, "status": status,
            "bodyBytesSent": bodyBytesSent,
        ]
        object["seconds"] = seconds
        object["outcome"] = outcome?.rawValue
        object["badKnob"] = badKnob?.description
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? JSONSerialization.data(withJSONObject: object, options: options)
        else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }
}
