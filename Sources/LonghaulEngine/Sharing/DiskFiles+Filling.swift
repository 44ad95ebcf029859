internal import LonghaulCore
internal import LonghaulPlatform

extension DiskFiles {
    func fill(_ fetch: FetchID, _ kept: KeptFile) {
        guard let part = part(fetch) else { return }
        do throws(SystemFailure) {
            try part.fill(
                from: kept.path, kept.identity, length: kept.length,
                unchangedSince: kept.finishedAt)
            try part.sync()
            report(fetch, .filled)
        } catch {
            try? part.truncate(to: 0)
            report(fetch, .fillFailed(LocalFault(error)))
        }
    }
}
