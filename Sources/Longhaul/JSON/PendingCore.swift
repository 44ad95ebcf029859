package import LonghaulCore
package enum Redaction {
    package static func url(_ url: String) -> String { url }
    package static func text(_ text: String) -> String { text }
}
package enum RFC3339 {
    package static func format(_ t: Timestamp) -> String { "\(t.milliseconds)" }
}
package enum Pending {
    package static func size(_ t: String) -> Int64? { t.decimalValue }
    package static func duration(_ t: String) -> Double? { nil }
    package static func moment(_ t: String, _ now: Timestamp, _ offset: (Timestamp) -> Int) -> Timestamp? { nil }
    package static func header(_ t: String) -> HeaderFields.Field? { nil }
    package static func checksum(_ t: String) -> Checksum? { nil }
}
