internal import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulStore

/// Holds transfers back whose credentials their origin has refused for others.
extension Origins {
    /// Records the consequences of an answer for the credentials of its fetch. Returns whether
    /// other requests must stop using them.
    func judge(
        _ step: FetchStep, _ event: FetchEvent, at site: OriginSite, with credentials: Credentials?
    ) -> Bool {
        guard let credentials else { return false }
        if !site.refused.isEmpty, case .head(_, let head) = event,
            (200..<300).contains(head.status)
        {
            site.refused.accepted(credentials)
        }
        var isEnough = false
        for case .attempt(_, let record) in step.writes
        where record.isRefusedAccess && Origins.name(of: record.url) == site.name {
            let message = record.message ?? record.outcome
            haveRefused = true
            if site.refused.refused(credentials, saying: message) { isEnough = true }
        }
        return isEnough
    }

    /// Why the transfer is not to ask its origin now; `nil` = it may.
    func refusal(of work: TransferWork, now: Timestamp) -> WaitReason? {
        let site = site(work.origin)
        guard !site.refused.isEmpty, let credentials = Credentials(of: work.request),
            let obstacle = site.refused.obstacle(to: credentials)
        else { return nil }
        let next = credentials.mayBeRenewed ? now + Limits.secretsCheckSeconds : nil
        return .credentials(obstacle, since: now, nextCheck: next)
    }
}

extension Credentials {
    init?(of request: TransferRequest) {
        self.init(of: request) { FileInspection.file(at: $0)?.touched }
    }
}
