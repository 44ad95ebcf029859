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
    private static let identifier = "com.example.photosync"

    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 2 else { exit(64) }
        let library = URL(fileURLWithPath: arguments[2], isDirectory: true).absoluteURL
        var host = BackgroundHost(identifier: identifier)
        host.backgroundTask(.urlSession(identifier)) { _, events in
            try collect(events, into: library)
        }
        if try await host.runIfLaunched() { return }
        guard arguments[1] == "add" else { exit(64) }
        try await add(arguments.dropFirst(3).compactMap { URL(string: $0) }, to: library)
    }

    /// Records the requests. The engine that runs, or the next one, downloads the photos.
    private static func add(_ photos: [URL], to library: URL) async throws {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        var configuration = BackgroundSession.Configuration()
        configuration.engine = .external
        configuration.host = HostProgram(
            identifier: identifier, command: [program, "--background", library.path])
        let session = try await BackgroundSession(
            identifier: identifier, configuration: configuration)
        let incoming = library.appending(path: "incoming")
        _ = try await session.download(
            photos.map { photo in
                (
                    request: TransferRequest(url: photo),
                    file: incoming.appending(path: photo.lastPathComponent)
                )
            })
        try await session.invalidate()
    }

    /// Moves the photos of completed transfers. After a crash in the middle all events come again,
    /// and moved photos are no longer in `incoming`.
    private static func collect(_ events: [SessionEvent], into library: URL) throws {
        let photos = library.appending(path: "photos", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: photos, withIntermediateDirectories: true)
        for event in events where event.kind == .transferCompleted {
            guard let file = event.file, FileManager.default.fileExists(atPath: file.path)
            else { continue }
            try FileManager.default.moveItem(
                at: file, to: photos.appending(path: file.lastPathComponent))
        }
    }
}
