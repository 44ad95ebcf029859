#if !canImport(Darwin)
public import Foundation
internal import FoundationNetworking
internal import Longhaul

/// The content of resume data: where the bytes of a cancelled or failed task are.
struct ResumeData: Codable {
    /// The store that has the transfer.
    var store: String
    var transfer: Int64
    var url: String
    /// The file of an upload.
    var source: String?
    /// The version of the bytes, as the server has named it; for people.
    var validator: String?

    /// `nil`: no resume data.
    init?(_ data: Data) {
        guard let read = try? JSONDecoder().decode(ResumeData.self, from: data) else { return nil }
        self = read
    }

    init(_ transfer: Transfer, in queue: TransferQueue) throws(LonghaulError) {
        store = try StoreIdentity.of(queue)
        self.transfer = transfer.id.rawValue
        url = transfer.url
        source = transfer.source
        validator = try HeldVersion.validator(of: transfer.id, in: queue)
    }

    var request: URLRequest? { URL(string: url).map { URLRequest(url: $0) } }

    var encoded: Data? { try? JSONEncoder().encode(self) }

    /// The transfer that the data name, which can be continued.
    static func transfer(_ data: Data, in queue: TransferQueue) throws(LonghaulError) -> Transfer {
        guard let resume = ResumeData(data) else { throw .unresumable("they are damaged") }
        guard resume.store == (try StoreIdentity.of(queue)) else {
            throw .unresumable("they are of another state directory")
        }
        let found = try queue.transfer(TransferID(rawValue: resume.transfer))
        guard let found, found.url == resume.url, found.source == resume.source else {
            throw .unresumable("their transfer is forgotten")
        }
        switch found.state {
        case .cancelled, .failed: return found
        case .waiting, .running, .paused, .completed:
            throw .unresumable("their transfer is continued already")
        }
    }
}

extension LonghaulError {
    fileprivate static func unresumable(_ why: String) -> LonghaulError {
        LonghaulError(
            .noSuchTransfer, "the resume data cannot be used: \(why); begin the transfer anew")
    }
}

/// Key of resume data in the `userInfo` of a download's `URLError` (Foundation's constant).
public let NSURLSessionDownloadTaskResumeData = "NSURLSessionDownloadTaskResumeData"
/// Key of resume data in the `userInfo` of an upload's `URLError` (Foundation's constant).
public let NSURLSessionUploadTaskResumeData = "NSURLSessionUploadTaskResumeData"

extension URLError {
    /// Data that continue the download which has failed or was cancelled with them; else `nil`.
    public var downloadTaskResumeData: Data? {
        userInfo[NSURLSessionDownloadTaskResumeData] as? Data
    }

    /// Data that continue the upload, as ``downloadTaskResumeData``.
    public var uploadTaskResumeData: Data? {
        userInfo[NSURLSessionUploadTaskResumeData] as? Data
    }
}
#endif
