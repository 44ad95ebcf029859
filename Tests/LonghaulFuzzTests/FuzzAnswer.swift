@testable import LonghaulCore
@testable import LonghaulModel
@testable import LonghaulTransport

/// Answers of a server as the corpus writes them: a line `STATUS`, header fields, an empty line,
/// the body, and a line `%%` between two answers.
struct FuzzAnswer {
    var status: Int
    var headers: HeaderFields
    var body: [UInt8]

    /// The first line tells what is asked, the rest are the answers.
    static func split(_ bytes: [UInt8]) -> (setup: [Substring], answers: [FuzzAnswer]) {
        let newline = UInt8(ascii: "\n")
        let setup = bytes.prefix { $0 != newline }
        var answers: [FuzzAnswer] = []
        var rest = bytes.dropFirst(setup.count + 1)
        while !rest.isEmpty {
            let end = rest.firstRange(of: Array("\n%%\n".utf8))
            answers.append(FuzzAnswer(rest[..<(end?.lowerBound ?? rest.endIndex)]))
            rest = end.map { rest[$0.upperBound...] } ?? []
        }
        return (String(decoding: setup, as: UTF8.self).split(separator: " "), answers)
    }

    private init(_ bytes: ArraySlice<UInt8>) {
        let gap = bytes.firstRange(of: Array("\n\n".utf8))
        let head = Array(bytes[..<(gap?.lowerBound ?? bytes.endIndex)])
        body = gap.map { Array(bytes[$0.upperBound...]) } ?? []
        let number = String(decoding: head.prefix { $0 != 0x0A }, as: UTF8.self)
        // libcurl passes on a status of three digits.
        status = number.decimalValue.map { Int(min(max($0, 100), 999)) } ?? 200
        headers = head.withUnsafeBytes { HeadBlock.fields(of: $0) }
    }

    func head(at url: String, isAfterBody: Bool = true) -> ResponseHead {
        var head = ResponseHead(
            status: status, headers: headers, effectiveURL: url, receivedAt: fuzzNow)
        head.isAfterBody = isAfterBody
        return head
    }
}
