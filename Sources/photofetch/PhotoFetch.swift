import Foundation
import LonghaulURLSession

/// Downloads photos into a folder, by URLSession's names on Apple's systems and on Linux:
///
///     photofetch FOLDER URL…     requests the photos, and waits for them
///     photofetch FOLDER          waits for photos that an earlier run has requested
///
/// A run may be killed at any moment: the next one gets photos received meanwhile.
@main struct PhotoFetch {
    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        guard let folder = arguments.first else { exit(64) }
        let (ends, end) = AsyncStream.makeStream(of: Never.self)
        let photos = Photos(folder: URL(fileURLWithPath: folder, isDirectory: true), end: end)

        let session = BackgroundURLSession(
            configuration: .background(withIdentifier: "com.example.photofetch"),
            delegate: photos, delegateQueue: nil)
        for url in arguments.dropFirst().compactMap({ URL(string: $0) }) {
            let task = session.downloadTask(with: url)
            task.taskDescription = url.lastPathComponent
            task.resume()
        }
        let count = await session.allTasks.count
        print("waiting for \(count)")
        session.finishTasksAndInvalidate()
        for await _ in ends {}
    }
}

/// Moves each photo into the folder, under the name that its task was given.
final class Photos: NSObject, BackgroundURLSessionDownloadDelegate {
    private let folder: URL
    private let end: AsyncStream<Never>.Continuation

    init(folder: URL, end: AsyncStream<Never>.Continuation) {
        self.folder = folder
        self.end = end
    }

    func urlSession(
        _ session: BackgroundURLSession, downloadTask: BackgroundURLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    ) {
        let name = downloadTask.taskDescription ?? location.lastPathComponent
        let status = (downloadTask.response as? HTTPURLResponse)?.statusCode ?? 200
        guard status < 400 else { return print("refused \(name): \(status)") }
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try FileManager.default.moveItem(at: location, to: folder.appending(path: name))
            print("arrived \(name)")
        } catch {
            print("not moved \(name): \(error)")
        }
    }

    func urlSession(
        _ session: BackgroundURLSession, task: BackgroundURLSessionTask,
        didCompleteWithError error: (any Error)?
    ) {
        if let error { print("failed \(task.taskDescription ?? ""): \(error)") }
    }

    func urlSession(
        _ session: BackgroundURLSession, didBecomeInvalidWithError error: (any Error)?
    ) {
        end.finish()
    }
}
