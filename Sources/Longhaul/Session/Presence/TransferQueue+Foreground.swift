internal import Foundation
internal import LonghaulCore
internal import LonghaulStore
internal import LonghaulSystem

extension TransferQueue {
    /// A file name that nobody else has thought of.
    static func freshName() -> String {
        var random = SystemRandom()
        return [random.next(), random.next()].map { String($0, radix: 36) }.joined()
    }

    /// The content of a completed transfer that nobody but the caller knows of: afterwards the
    /// store has forgotten it, and the file is gone.
    ///
    /// In this order a crash in between leaves a file that nobody asks for, never an event without
    /// its file.
    func takeContent(of id: TransferID, at path: String) throws(LonghaulError) -> Data {
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path, isDirectory: false))
        } catch {
            throw LonghaulError(
                .io, "\(path) was downloaded, and cannot be read: \(error)", transferID: id)
        }
        try store.consume(id, forgetting: true, now: now)
        SpooledFile.remove(path)
        return data
    }
}
