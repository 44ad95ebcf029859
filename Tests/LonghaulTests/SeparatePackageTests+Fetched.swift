import Foundation
import LonghaulTestSupport
import Testing

/// What SwiftPM fetches for those who use the package.
extension SeparatePackageTests {
    /// The packages that SwiftPM fetches for the traits of an embedder are those that the page
    /// names.
    @Test func whatIsFetchedIsAsDocumented() async throws {
        let text = try String(
            contentsOf: Article.root.appending(path: "docs/swift.md"), encoding: .utf8)
        let rows = try #require(text.components(separatedBy: "| `traits:` |").last)
            .split(separator: "\n").dropFirst(2).prefix { $0.hasPrefix("|") }
        try #require(rows.count == 5)
        for row in rows {
            let cells = row.split(separator: "|").map { $0.split(separator: "`") }
            let traits = ", traits: \(cells[0][1])"
            let named = Set(cells[1].filter { $0.hasPrefix("swift-") }.map(String.init))
            let scratch = try Scratch("fetched")
            let package = try SeparatePackage(
                "fetch", of: Article("docs/swift.md"), in: scratch.path)
            let manifest = try package.text(of: "Package.swift")
            #expect(manifest.contains(", traits: []"))
            try package.write(
                manifest.replacing(", traits: []", with: traits), to: "Package.swift")
            let fetched = try await resolved("fetch", in: scratch)
            #expect(fetched == named, "\(row)")
        }
    }

    /// A remote package that names no traits gets what `Longhaul` needs and nothing else, so that
    /// its own packages may be older than those of the programs.
    @Test func olderPackagesResolveBesideTheLibrary() async throws {
        let scratch = try Scratch("beside")
        try await publish(
            "longhaul", "1.0.0", in: scratch,
            manifest: String(
                contentsOf: Article.root.appending(path: "Package.swift"), encoding: .utf8))
        let older = ["swift-nio": "2.50.0", "swift-argument-parser": "1.2.0"]
        for (name, version) in older {
            try await publish(
                name, version, in: scratch,
                manifest: """
                    // swift-tools-version:5.9
                    import PackageDescription

                    let package = Package(
                        name: "\(name)", products: [.library(name: "\(name)", targets: ["A"])],
                        targets: [.target(name: "A", path: ".")])
                    """)
        }
        let dependencies = older.map {
            ".package(url: \"file://\(scratch($0.key))\", exact: \"\($0.value)\"),"
        }
        _ = try scratch.directory("server/Sources/server")
        try scratch.write("", to: "server/Sources/server/Server.swift")
        try scratch.write(
            """
            // swift-tools-version:6.1
            import PackageDescription

            let package = Package(
                name: "server",
                dependencies: [
                    .package(url: "file://\(scratch("longhaul"))", from: "1.0.0"),
                    \(dependencies.joined(separator: "\n"))
                ],
                targets: [
                    .target(
                        name: "server",
                        dependencies: [
                            .product(name: "Longhaul", package: "longhaul"),
                            .product(name: "swift-nio", package: "swift-nio"),
                            .product(
                                name: "swift-argument-parser", package: "swift-argument-parser"),
                        ])
                ])
            """, to: "server/Package.swift")
        let fetched = try await resolved("server", in: scratch)
        #expect(fetched == ["longhaul", "swift-log", "swift-nio", "swift-argument-parser"])
    }

    /// Names of the packages that SwiftPM fetches for a package, other than those in a folder.
    private func resolved(_ name: String, in scratch: Scratch) async throws -> Set<String> {
        let swift = try #require(InstalledProgram.find("swift"))
        let result = try await CLIProcess.run(
            swift, ["package", "--cache-path", scratch("cache"), "resolve"],
            directory: scratch(name), within: .seconds(300))
        try #require(result.status == 0, "\(result.errors)")
        struct Pins: Decodable {
            struct Pin: Decodable { var identity: String }
            var pins: [Pin]
        }
        let file = URL(filePath: scratch("\(name)/Package.resolved"))
        return try Set(
            JSONDecoder().decode(Pins.self, from: Data(contentsOf: file)).pins.map(\.identity))
    }

    /// A repository with one commit: the manifest and an empty source, under a version.
    private func publish(
        _ name: String, _ version: String, in scratch: Scratch, manifest: String
    ) async throws {
        let git = try #require(InstalledProgram.find("git"))
        _ = try scratch.directory(name)
        try scratch.write(manifest, to: "\(name)/Package.swift")
        try scratch.write("", to: "\(name)/A.swift")
        let author = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        for words in [
            ["init", "--quiet"], ["add", "."], author + ["commit", "--quiet", "-m", version],
            ["tag", version],
        ] {
            let result = try await CLIProcess.run(git, words, directory: scratch(name))
            try #require(result.status == 0, "\(result.errors)")
        }
    }
}
