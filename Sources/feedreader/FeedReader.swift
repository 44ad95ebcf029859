import FoundationEssentials
import Glibc
import Longhaul

/// Follows podcasts and other feeds, and need not run meanwhile:
///
///     feedreader subscribe DIRECTORY URL…  follows feeds
///     feedreader list DIRECTORY            shows the episodes
///     feedreader --background DIRECTORY    started by Longhaul
///     feedreader --stay DIRECTORY          runs all day, and does the same in its own process
@main struct FeedReader {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 2 else { exit(64) }
        let directory = URL(fileURLWithPath: arguments[2], isDirectory: true).absoluteURL
        let reader = BackgroundReader(
            database: FeedDatabase(directory: directory),
            command: [try program(), "--background", directory.path])
        if try await reader.program().runIfLaunched() { return }

        switch arguments[1] {
        case "subscribe":
            try await reader.database.subscribe(Array(arguments.dropFirst(3)))
            try await reader.schedule()
        case "--stay":
            try await reader.schedule()
            // A program with a window would have `async let handed: Void = …` beside it.
            try await reader.program().run()
        case "list":
            for episode in try await reader.database.contents().episodes {
                puts("\(episode.file ?? "-") \(episode.title)")
            }
        default: exit(64)
        }
    }

    /// The path of this program.
    private static func program() throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }
}
