import Foundation
import LonghaulTestSupport

/// What the `curl` command made of a URL: an opinion on the test server that is not ours.
struct CurlAnswer {
    /// curl's exit status.
    var exit: Int32
    var status: Int
    /// Of the last answer; names in lower case.
    var headers: [String: String]
    var body: [UInt8]

    static var isInstalled: Bool { InstalledProgram.find("curl") != nil }

    static func get(_ url: String, _ options: String...) async throws -> CurlAnswer {
        let scratch = try Scratch("curl")
        let arguments =
            ["-q", "-s", "-D", scratch("head"), "-o", scratch("body"), "-w", "%{http_code}"]
            + options + [url]
        let program = InstalledProgram.find("curl") ?? "curl"
        let result = try await CLIProcess.run(program, arguments)
        let heads = ((try? scratch.text(of: "head")) ?? "").components(separatedBy: "\r\n\r\n")
        var headers: [String: String] = [:]
        for line in (heads.last { !$0.isEmpty } ?? "").components(separatedBy: "\r\n") {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            headers[line[..<colon].lowercased()] = String(value)
        }
        let body = FileManager.default.contents(atPath: scratch("body")) ?? Data()
        return CurlAnswer(
            exit: result.status, status: Int(result.output) ?? 0, headers: headers,
            body: Array(body))
    }
}
