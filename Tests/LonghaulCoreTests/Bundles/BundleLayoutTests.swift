import LonghaulCore
import Testing

/// Where files go, and what makes a version current.
@Suite struct BundleLayoutTests {
    private let file = ManifestFile(path: "a/b", url: "https://h/b")

    @Test func plainFilesAreInTheDirectory() throws {
        let layout = BundleLayout(
            .plain, directory: "/d", source: try BundleFixture.source("list:/l"))
        #expect(layout.place(of: file, in: "v1") == "/d/a/b")
        #expect(layout.path(of: "v1") == "/d")
        #expect(layout.path(of: "a/b", in: "v1") == "/d/a/b")
        #expect(layout.finish(Manifest(version: "v1", files: [file])) == [])
    }

    @Test func versionsAreSwitchedByALink() throws {
        let layout = BundleLayout(
            .versions, directory: "/d", source: try BundleFixture.source("list:/l"))
        #expect(layout.place(of: file, in: "sha256:12") == "/d/versions/sha256-12/a/b")
        #expect(layout.path(of: "sha256:12") == "/d/versions/sha256-12")
        #expect(
            layout.finish(Manifest(version: "sha256:12", files: [file])) == [
                .link(path: "/d/current", target: "versions/sha256-12")
            ])
    }

    @Test func layoutsFitTheirSources() throws {
        let allowed = { (text: String) in
            let source = try BundleFixture.source(text)
            return BundleLayoutKind.allCases.filter(source.allows)
        }
        #expect(try allowed("hf:a/b") == [.plain, .versions, .hfCache])
        #expect(try allowed("oci:a/b") == [.oci])
        #expect(try allowed("zenodo:1") == [.plain, .versions])
        for text in ["hf:a/b", "oci:a/b", "zenodo:1", "list:/l"] {
            let source = try BundleFixture.source(text)
            #expect(source.allows(source.defaultLayout))
        }
    }
}
