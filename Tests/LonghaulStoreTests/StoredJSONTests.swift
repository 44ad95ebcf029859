import LonghaulCore
import Testing

@testable import LonghaulStore

@Suite struct StoredJSONTests {
    @Test(arguments: [
        Validator(), Validator(etag: "\"a\\b\"", length: 0),
        Validator(
            etag: "W/\"x\"", lastModified: "Sun, 06 Nov 1994 08:49:37 GMT",
            lastModifiedIsStrong: true, length: .max, digest: "sha-256=:abc/+=:"),
        Validator(etag: "\"\u{7F}\""), Validator(lastModified: "é\n\u{0}"), Validator(digest: ""),
    ])
    func theShortWayToAValidatorsTextIsTheSame(_ validator: Validator) {
        let text = StoredJSON.text(validator)
        #expect(text == StoredJSON.encode(validator))
        #expect(StoredJSON.decode(Validator.self, text) == validator)
    }

    /// What is seldom there is stored, too: each of these decides what the next answer means.
    @Test func noFieldIsLeftOut() {
        var validator = Validator(etag: "x", length: 3)
        validator.mirror = "m"
        validator.origin = "o"
        validator.isJoined = true
        validator.doubts = 2
        #expect(StoredJSON.decode(Validator.self, StoredJSON.text(validator)) == validator)
        var doubted = Validator(etag: "x")
        doubted.doubts = 2
        #expect(StoredJSON.decode(Validator.self, StoredJSON.text(doubted)) == doubted)
    }

    private static let digest = Checksum(parsing: "sha256:" + String(repeating: "0a", count: 32))

    /// What differs from file to file stands first, and the rest of the text is the same for all.
    @Test(arguments: [nil, 0, .max], [digest, nil])
    func factsOfOneFileAreStoredApart(maxSize: Int64?, checksum: Checksum?) throws {
        var options = TransferOptions()
        options.headers = HeaderFields([
            HeaderFields.Field(name: "X", value: #"{"checksum":","after":"#)
        ])
        options.proxy = #"","after":[]"#
        let others = try #require(options.stored)
        options.maxSize = maxSize
        options.checksum = checksum
        let text = PerFileOptions(options)?.stored(before: others) ?? others
        #expect(TransferOptions(stored: text) == options)
        #expect(StoredJSON.decode(TransferOptions.self, text) == options)
        #expect(PerFileOptions.split(text)?.others ?? others == others)
        var standard = TransferOptions()
        standard.maxSize = maxSize
        standard.checksum = checksum
        let short = PerFileOptions(standard)?.stored(before: nil)
        #expect(TransferOptions(stored: short) == standard)
    }
}
