import LonghaulCore
import Testing

@testable import Longhaul

/// Lines by which programs report the progress of continued tasks.
@Suite struct ProgressAnswerTests {
    @Test(
        arguments: [
            (#"{"task":"t","progress":{"completed":1,"total":2}}"#, "t 1/2 - -"),
            (#"{"task":"t","progress":{"total":2,"completed":1,"unit":"B"},"x":[1]}"#, "t 1/2 - -"),
            (#"{"task":"t","progress":null,"title":"a"}"#, "t - a -"),
            (
                #"{"task":"t","progress":{"completed":2,"total":2},"title":"a","subtitle":"b"}"#,
                "t 2/2 a b"
            ),
            (#"{"task":"t","subtitle":""}"#, "t - - "),
        ])
    func aLineIsRead(line: String, text: String) throws {
        let answer = try #require(ProgressAnswer(Array(line.utf8)))
        let report = answer.report
        let counts = report.progress.map { "\($0.completedUnitCount)/\($0.totalUnitCount)" }
        #expect(
            [answer.identifier, counts ?? "-", report.title ?? "-", report.subtitle ?? "-"]
                .joined(separator: " ") == text)
    }

    @Test(
        arguments: [
            "", "text", "{}", "[]", #"{"task":"t"}"#,
            #"{"progress":{"completed":1,"total":2}}"#,
            #"{"task":"t","progress":{"completed":3,"total":2}}"#,
            #"{"task":"t","progress":{"completed":-1,"total":2}}"#,
            #"{"task":"t","progress":{"completed":0,"total":0}}"#,
            #"{"task":"t","progress":{"completed":1}}"#,
            #"{"task":"t","progress":{"completed":1.5,"total":2}}"#,
            #"{"task":"t","progress":{"completed":1,"total":99999999999999999999}}"#,
            #"{"task":"t","progress":{"completed":1,"total":9223372036854775807}}"#,
            #"{"task":"t","progress":50}"#, #"{"task":"t","title":""}"#,
            #"{"task":"t","title":"a\nb"}"#, #"{"task":7,"title":"a"}"#,
            #"{"task":"t","title":"a"} x"#, #"{"task":"t","result":"success"}"#,
            #"{"task":"t","title":"\#(String(repeating: "a", count: 300))"}"#,
        ])
    func aLineThatMakesNoSenseIsIgnored(line: String) {
        #expect(ProgressAnswer(Array(line.utf8)) == nil)
    }
}
