import FoundationEssentials
import Glibc
import Longhaul

/// Downloads photos into a library, and need not run meanwhile:
///
///     photosync add LIBRARY URL…           requests the photos, and ends
///     photosync --background LIBRARY       started by Longhaul when they have arrived
///
/// The photos arrive in `LIBRARY/incoming`; complete ones are moved to `LIBRARY/photos`.
@main struct PhotoSync {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 2 else { exit(64) }
        let library = URL(fileURLWithPath: arguments[2], isDirectory: true).absoluteURL
        switch arguments[1] {
        case "add":
            try await add(arguments.dropFirst(3).compactMap { URL(string: $0) }, to: library)
        case "--background": try await collect(into: library)
        default: exit(64)
        }
    }

    /// Records the requests. The engine that runs, or the next one, downloads the photos.
    static func add(_ photos: [URL], to library: URL) async throws {
        var configuration = BackgroundSession.Configuration()
        configuration.engine = .external
        configuration.host = Host(
            identifier: "com.example.photosync",
            command: [try program(), "--background", library.path])
        let session = try await BackgroundSession(
            identifier: "com.example.photosync", configuration: configuration)
        for photo in photos {
            _ = try await session.download(
                TransferRequest(url: photo),
                to: library.appending(path: "incoming/\(photo.lastPathComponent)"))
        }
        try await session.invalidate()
    }

    /// Handles the events of a launch. Each event is acknowledged when its photo has been moved.
    /// After a crash between the two the event comes again, and its photo is no longer in
    /// `incoming`.
    static func collect(into library: URL) async throws {
        guard let launch = BackgroundLaunch.current else { exit(64) }
        var configuration = BackgroundSession.Configuration()
        configuration.engine = .external
        configuration.store = launch.store
        let session = try await BackgroundSession(
            identifier: "com.example.photosync", configuration: configuration)
        let photos = library.appending(path: "photos", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: photos, withIntermediateDirectories: true)
        for event in launch.events {
            if event.kind == .transferCompleted, let file = event.file,
                FileManager.default.fileExists(atPath: file.path)
            {
                let place = photos.appending(path: file.lastPathComponent)
                try FileManager.default.moveItem(at: file, to: place)
            }
            try await session.acknowledge(event)
        }
        try await session.invalidate()
    }

    /// The path of this program.
    static func program() throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }
}
