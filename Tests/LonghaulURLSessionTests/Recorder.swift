import Foundation
import Longhaul
import LonghaulTestSupport
import LonghaulTesting
import LonghaulURLSession
import Synchronization

/// Records what a session tells its delegate, in order.
final class Recorder: NSObject, BackgroundURLSessionDownloadDelegate,
    BackgroundURLSessionDataDelegate
{
    struct Told {
        /// `file`, `data`, `end` or `end CODE`, `events`, `invalid`; progress is left out.
        var calls: [String] = []
        var contents: [Data] = []
        var locations: [URL] = []
        var written: [(more: Int64, total: Int64, expected: Int64)] = []
        var sent: [(more: Int64, total: Int64, expected: Int64)] = []
        var delayed: [URLRequest] = []
        var descriptions: [String?] = []
        var resumed: [(at: Int64, of: Int64)] = []
        var created: [Int] = []
        var waiting: [Int] = []
    }

    typealias Answer = (BackgroundURLSession.DelayedRequestDisposition, URLRequest?)

    private let told = Mutex(Told())
    private let answer: Answer

    init(answering answer: Answer = (.continueLoading, nil)) {
        self.answer = answer
    }

    var now: Told { told.withLock { $0 } }

    /// Waits until that call has come.
    func heard(_ call: String) async throws {
        try await eventually("\(call), after \(now.calls)") { now.calls.contains(call) }
    }

    func urlSession(
        _ session: BackgroundURLSession, downloadTask: BackgroundURLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    ) {
        let content = FileManager.default.contents(atPath: location.path)
        told.withLock {
            $0.calls.append("file")
            $0.contents.append(content ?? Data())
            $0.locations.append(location)
            $0.descriptions.append(downloadTask.taskDescription)
        }
    }

    func urlSession(
        _ session: BackgroundURLSession, downloadTask: BackgroundURLSessionDownloadTask,
        didWriteData bytesWritten: Int64, totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        told.withLock {
            $0.written.append((bytesWritten, totalBytesWritten, totalBytesExpectedToWrite))
        }
    }

    func urlSession(
        _ session: BackgroundURLSession, downloadTask: BackgroundURLSessionDownloadTask,
        didResumeAtOffset fileOffset: Int64, expectedTotalBytes: Int64
    ) {
        told.withLock { $0.resumed.append((fileOffset, expectedTotalBytes)) }
    }

    func urlSession(_ session: BackgroundURLSession, didCreateTask task: BackgroundURLSessionTask) {
        told.withLock { $0.created.append(task.taskIdentifier) }
    }

    func urlSession(
        _ session: BackgroundURLSession,
        taskIsWaitingForConnectivity task: BackgroundURLSessionTask
    ) {
        told.withLock { $0.waiting.append(task.taskIdentifier) }
    }

    func urlSession(
        _ session: BackgroundURLSession, task: BackgroundURLSessionTask,
        didSendBodyData bytesSent: Int64, totalBytesSent: Int64, totalBytesExpectedToSend: Int64
    ) {
        told.withLock { $0.sent.append((bytesSent, totalBytesSent, totalBytesExpectedToSend)) }
    }

    func urlSession(
        _ session: BackgroundURLSession, dataTask: BackgroundURLSessionDataTask,
        didReceive data: Data
    ) {
        told.withLock {
            $0.calls.append("data")
            $0.contents.append(data)
        }
    }

    func urlSession(
        _ session: BackgroundURLSession, task: BackgroundURLSessionTask,
        didCompleteWithError error: (any Error)?
    ) {
        let code = (error as? URLError).map { " \($0.errorCode)" } ?? (error == nil ? "" : " ?")
        told.withLock { $0.calls.append("end" + code) }
    }

    func urlSession(
        _ session: BackgroundURLSession, task: BackgroundURLSessionTask,
        willBeginDelayedRequest request: URLRequest,
        completionHandler:
            @escaping @Sendable (
                BackgroundURLSession.DelayedRequestDisposition, URLRequest?
            ) -> Void
    ) {
        told.withLock { $0.delayed.append(request) }
        completionHandler(answer.0, answer.1)
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: BackgroundURLSession) {
        told.withLock { $0.calls.append("events") }
    }

    func urlSession(
        _ session: BackgroundURLSession, didBecomeInvalidWithError error: (any Error)?
    ) {
        told.withLock { $0.calls.append(error == nil ? "invalid" : "invalid \(error!)") }
    }
}

extension SimulatedWorld {
    /// A session in this world.
    nonisolated func urlSession(
        _ delegate: Recorder?,
        _ edit: (BackgroundURLSessionConfiguration) -> Void = { _ in }
    ) -> BackgroundURLSession {
        let settings = BackgroundURLSessionConfiguration.background(
            withIdentifier: "com.example.test")
        settings.store = configuration.store
        settings.engine = configuration.engine
        edit(settings)
        return BackgroundURLSession(
            configuration: settings, delegate: delegate, delegateQueue: nil)
    }
}
