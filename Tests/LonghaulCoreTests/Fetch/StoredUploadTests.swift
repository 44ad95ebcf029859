import Foundation
import Testing

@testable import LonghaulCore
@testable import LonghaulModel

/// The stored form of an upload: what a row of an older engine says is read as it was meant, and
/// what is written says the same.
@Suite struct StoredUploadTests {
    /// The fields that each row had, whatever its protocol.
    private static let common: [String: String] = [
        "isGuess": "false", "isRemembered": "false", "mayHaveArrived": "false",
        "mustAsk": "false", "mustDiscover": "false", "partTags": "[]", "sentBound": "0",
        "takesBytesAtCreation": "false", "isForgotten": "false", "refusedAppends": "0",
    ]

    private func read(_ own: [String: String]) throws -> UploadState {
        let fields = Self.common.merging(own) { _, own in own }
        let text = fields.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
        return try JSONDecoder().decode(UploadState.self, from: Data("{\(text)}".utf8))
    }

    private static let resource = "\"http://h/r/1\""

    private static func tus() -> UploadProgress {
        var kept = TusUpload.Kept(at: "http://h/r/1", sentBound: 9, mustAsk: true, appendLimit: 5)
        (kept.takesBytesAtCreation, kept.terminates) = (true, false)
        return .tus(kept)
    }

    private static func s3() -> UploadProgress {
        var kept = S3Upload.Kept(at: "id", partSize: 8, partTags: ["", "\"a\""])
        (kept.listedThrough, kept.begunAt) = (7, Timestamp(milliseconds: 5))
        (kept.isForgotten, kept.mustAsk) = (true, true)
        return .s3(kept)
    }

    private static func file() -> UploadProgress {
        var kept = RemoteFileUpload.Kept(at: ".a", sentBound: 9, swap: .restoring)
        (kept.renameRefusal, kept.refusedAppends) = ("550", 1)
        return .remoteFile(kept)
    }

    private static func discovery() -> UploadProgress {
        var kept = UploadDiscovery.Kept(mustDiscover: true)
        kept.draftToAsk = .ietf8
        return .discovery(kept)
    }

    @Test(
        arguments: [
            (["mustDiscover": "true", "draftToAsk": "\"ietf8\""], discovery()),
            (
                ["dialect": "\"plain\"", "isRemembered": "true"],
                .plain(PlainUpload.Kept(isRemembered: true))
            ),
            (
                ["dialect": "\"ietf9\"", "isGuess": "true", "isRemembered": "true"],
                .draft(DraftUpload.Kept(.ietf9, isGuess: true, isRemembered: true))
            ),
            (
                ["dialect": "\"ietf6\"", "address": resource, "sentBound": "9"],
                .draft(DraftUpload.Kept(.ietf6, at: "http://h/r/1", sentBound: 9))
            ),
            (
                [
                    "dialect": "\"tus\"", "address": resource, "sentBound": "9",
                    "mustAsk": "true", "appendLimit": "5", "takesBytesAtCreation": "true",
                    "terminates": "false",
                ], tus()
            ),
            (
                [
                    "dialect": "\"s3\"", "address": "\"id\"", "appendLimit": "8",
                    "partTags": #"["","\"a\""]"#, "listedThrough": "7",
                    "begunAt": #"{"milliseconds":5}"#,
                    "isForgotten": "true", "mustAsk": "true",
                ], s3()
            ),
            (
                [
                    "dialect": "\"remoteFile\"", "address": "\".a\"", "sentBound": "9",
                    "swap": "\"restoring\"", "renameRefusal": "\"550\"", "refusedAppends": "1",
                ], file()
            ),
        ] as [([String: String], UploadProgress)])
    func anOlderRowIsRead(_ own: [String: String], _ progress: UploadProgress) throws {
        let source =
            #"{"changed":4,"device":1,"inode":2,"modified":3,"size":1000}"#
        let state = try read(
            own.merging(["source": source, "mayHaveArrived": "true"]) { _, new in new })
        #expect(state.progress == progress && state.mayHaveArrived)
        #expect(state.source?.size == 1000)
        let written = try JSONEncoder().encode(state)
        #expect(try JSONDecoder().decode(UploadState.self, from: written) == state)
        let text = String(decoding: written, as: UTF8.self)
        // The store reads these two in SQL, whatever the protocol.
        let kept = state.progress.kept
        #expect(text.contains("\"address\"") == (kept.address != nil))
        #expect(text.contains("\"sentBound\"") == (own["dialect"] != nil))
        // Nothing but what the protocol keeps.
        #expect(text.contains("dialect") == (own["dialect"] != nil))
        #expect(text.contains("partTags") == (own["dialect"] == "\"s3\""))
    }
}
