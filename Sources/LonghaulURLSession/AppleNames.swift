#if canImport(Darwin)
@_exported public import Foundation

// Apple's systems have the background half of URLSession: each name here is another one for
// Foundation's own.

/// Foundation's session.
public typealias BackgroundURLSession = URLSession
/// Foundation's configuration of a session.
public typealias BackgroundURLSessionConfiguration = URLSessionConfiguration
/// Foundation's task.
public typealias BackgroundURLSessionTask = URLSessionTask
/// Foundation's task whose answer has a body.
public typealias BackgroundURLSessionDataTask = URLSessionDataTask
/// Foundation's download.
public typealias BackgroundURLSessionDownloadTask = URLSessionDownloadTask
/// Foundation's upload.
public typealias BackgroundURLSessionUploadTask = URLSessionUploadTask
/// Foundation's cost of a task.
public typealias BackgroundURLSessionTaskMetrics = URLSessionTaskMetrics
/// Foundation's cost of a request.
public typealias BackgroundURLSessionTaskTransactionMetrics = URLSessionTaskTransactionMetrics
/// Foundation's delegate of a session.
public typealias BackgroundURLSessionDelegate = URLSessionDelegate
/// Foundation's delegate of tasks.
public typealias BackgroundURLSessionTaskDelegate = URLSessionTaskDelegate
/// Foundation's delegate of tasks whose answer has a body.
public typealias BackgroundURLSessionDataDelegate = URLSessionDataDelegate
/// Foundation's delegate of downloads.
public typealias BackgroundURLSessionDownloadDelegate = URLSessionDownloadDelegate
#endif
