import Foundation
import LonghaulTestSupport
import Testing

/// `docs/tutorial.md` and `docs/recipes.md`, from the first command to the last.
@Suite(.timeLimit(.minutes(60))) struct TutorialPageTests {
    @Test func theTutorialIsAsOnThePage() async throws {
        let page = ConsolePage(path: "docs/tutorial.md")
        try await LoopbackServer.run { server in
            var shell = try PageShell(server: server)
            shell.knobs = [
                "small.iso": "size=5M", "big.iso": "size=20M", "night.iso": "size=1M",
            ]
            for (heading, command) in try page.commands() {
                if command == "longhaul status" { try await moves(2, shell.home) }
                if command == "pkill -9 longhaul" {
                    try await shell.signalEngine(SIGKILL)
                    continue
                }
                let result = try await shell.run(closed(command))
                #expect(result.status == 0, "\(command): \(result)")
                try page.check(
                    shell.shown(result.errors + result.output), of: command, under: heading)
                // A reader types the next command when the engine has come.
                if command.hasPrefix("longhaul enqueue") { try await hasEngine(shell.home) }
            }
            try await shell.signalEngine(SIGTERM)
        }
    }

    /// The window of the page is open at night.
    private func closed(_ command: String) -> String {
        let hour = Int(Date().timeIntervalSince1970 / 3600) % 24
        return hour < 6 || hour == 23
            ? command.replacing("01:00-06:00", with: "13:00-18:00") : command
    }

    private func hasEngine(_ home: LonghaulHome) async throws {
        try await eventually("an engine runs") {
            try await home.run("status", "--json").rows.first?["engine"] != .null
        }
    }

    private func moves(_ id: Int, _ home: LonghaulHome) async throws {
        try await eventually("it moves") {
            let row = try await home.run("show", "\(id)", "--json").rows.first
            return row?["bytesDone"].int ?? 0 > 2 << 20 && row?["bytesPerSecond"].int ?? 0 > 0
        }
    }

    /// A section of the recipes, and the files that are there when its blocks have run.
    struct Recipe: CustomTestStringConvertible, Sendable {
        var heading: String
        var files: [String]
        /// By names at the server.
        var uploads: [String] = []
        var testDescription: String { heading }
    }

    static let recipes = [
        Recipe(
            heading: "Download models at night",
            files: ["files/models/small.gguf", "files/models/large.gguf"]),
        Recipe(
            heading: "Send photos to a NAS each evening", files: [], uploads: ["a.jpg", "b.jpg"]),
        Recipe(heading: "Back up with restic at night", files: ["saved"]),
        Recipe(heading: "Download videos with yt-dlp", files: ["talk.mp4", "files/talk.mp4"]),
        Recipe(
            heading: "Keep a mirror of files that change",
            files: ["files/mirror/Release", "files/mirror/Packages.xz", "files/debian.iso"]),
        Recipe(
            heading: "Move artefacts in CI", files: ["files/app.tar.gz"], uploads: ["app.tar.gz"]),
    ]

    @Test(.enabled(if: UploadServer.isInstalled, "skipped: no python3"), arguments: recipes)
    func aRecipeDoesWhatItSays(_ recipe: Recipe) async throws {
        let uploads = try await UploadServer.start()
        try await LoopbackServer.run { server in
            var shell = try PageShell(server: server)
            shell.uploads = uploads
            try shell.standIn("restic", #"echo "$RESTIC_REPOSITORY $*" > "$HOME/saved""#)
            try shell.standIn("yt-dlp", "touch talk.mp4")
            _ = try shell.home.scratch.directory("Pictures/2026")
            for name in ["Pictures/2026/a.jpg", "Pictures/b.jpg"] {
                try shell.home.scratch.write(name, to: name)
            }
            for block in try ConsolePage(path: "docs/recipes.md").scripts(under: recipe.heading) {
                let result = try await shell.run("CI_TOKEN=secret\n" + block)
                #expect(result.status == 0, "\(block): \(result)")
            }
            for file in recipe.files { #expect(shell.home.scratch.exists(file), "\(file)") }
            for name in recipe.uploads { #expect(uploads.has(name), "\(name)") }
            try await shell.signalEngine(SIGTERM)
        }
    }

    @Test func noRecipeIsLeftOut() throws {
        let page = ConsolePage(path: "docs/recipes.md")
        #expect(try page.headings("##") == Self.recipes.map(\.heading))
        for recipe in Self.recipes {
            #expect(try !page.scripts(under: recipe.heading).isEmpty, "\(recipe.heading)")
        }
    }
}
