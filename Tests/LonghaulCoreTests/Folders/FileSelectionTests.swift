import LonghaulCore
import Testing

/// The names that a watched folder, and `upload -r`, send.
@Suite struct FileSelectionTests {
    private static let table:
        [(include: [String], exclude: [String], path: String, upload: Bool, folder: Bool)] = [
            ([], [], "a.txt", true, true),
            ([], [], "sub/a.txt", true, true),
            ([], [], ".a", true, false),
            ([], [], ".git/config", true, false),
            ([], [], "sub/a.part", true, false),
            ([], [], "a.tmp", true, false),
            ([], [], "a.crdownload", true, false),
            ([], [], "a.bin.longhaul-part", true, false),
            ([], [], "party", true, true),
            // A pattern without a slash is matched with the last name.
            (["*.jpg"], [], "sub/deep/a.jpg", true, true),
            (["*.jpg"], [], "a.jpg.txt", false, false),
            (["sub/*.jpg"], [], "a.jpg", false, false),
            (["sub/*.jpg"], [], "sub/a.jpg", true, true),
            (["sub"], [], "sub/a.jpg", false, false),
            // What a pattern names is sent, whatever its name.
            (["*.part"], [], "a.part", true, true),
            ([".*"], [], ".a", true, true),
            // Hidden directories are left out unless the whole path is named.
            (["*.jpg"], [], ".thumbs/a.jpg", true, false),
            ([".thumbs/**"], [], ".thumbs/a.jpg", true, true),
            // An exclusion wins.
            (["*.jpg"], ["a*"], "sub/a.jpg", false, false),
            ([], ["sub/"], "sub/deep/a", false, false),
            ([], ["*.log"], "sub/a.log", false, false),
            ([], ["*.log"], "sub/a.txt", true, true),
        ]

    @Test func names() throws {
        for row in Self.table {
            let selection = try FileSelection(include: row.include, exclude: row.exclude)
            #expect(selection.selects(row.path) == row.upload, "\(row)")
            #expect(selection.selectsComplete(row.path) == row.folder, "\(row)")
        }
    }

    @Test func hiddenDirectoriesAreReadForTheirPatternsOnly() throws {
        let usual = try FileSelection(include: ["*.jpg"], exclude: [])
        #expect(usual.mayDescend(into: "a/b") && !usual.mayDescend(into: "a/.b"))
        let named = try FileSelection(include: [".b/*"], exclude: [])
        #expect(named.mayDescend(into: "a/.b"))
    }

    @Test func brokenPatternsAreRefused() {
        for pattern in ["", "[a"] {
            #expect(throws: LonghaulError.self) {
                try FileSelection(include: [pattern], exclude: [])
            }
            #expect(throws: LonghaulError.self) {
                try FileSelection(include: [], exclude: [pattern])
            }
        }
    }
}
