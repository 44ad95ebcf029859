package import LonghaulCore
package enum Redaction {
    package static func url(_ url: String) -> String { url }
    package static func text(_ text: String) -> String { text }
}
package enum RFC3339 {
    package static func format(_ t: Timestamp) -> String { "\(t.milliseconds)" }
}
package enum Pending {
    package static func size(_ t: String) -> Int64? { nil }
    package static func duration(_ t: String) -> Double? { nil }
}
