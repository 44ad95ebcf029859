import Foundation
import LonghaulURLSession

// The tests below say what a program says on iOS. On Linux these names lead to this product; on
// Apple's systems the file is left out.

typealias URLSession = BackgroundURLSession
typealias URLSessionConfiguration = BackgroundURLSessionConfiguration
typealias URLSessionTask = BackgroundURLSessionTask
typealias URLSessionDownloadTask = BackgroundURLSessionDownloadTask
typealias URLSessionUploadTask = BackgroundURLSessionUploadTask
typealias URLSessionDataTask = BackgroundURLSessionDataTask
typealias URLSessionTaskMetrics = BackgroundURLSessionTaskMetrics
typealias URLSessionDelegate = BackgroundURLSessionDelegate
typealias URLSessionTaskDelegate = BackgroundURLSessionTaskDelegate
typealias URLSessionDownloadDelegate = BackgroundURLSessionDownloadDelegate
typealias URLSessionDataDelegate = BackgroundURLSessionDataDelegate
