internal import LonghaulCore

/// The values of the columns `schedule`, `eligibility`, `waiveAt` and `waiveBy` of a transfer.
struct StoredSchedule {
    /// The key that was requested.
    var asked: EligibilityKey
    /// The key in the queue: `asked`, without the preferences once they are waived.
    var eligibility: EligibilityKey
    /// `nil` = there is nothing to waive.
    var waiver: PreferenceExpiry?

    /// - Parameters:
    ///   - usesNetwork: By its URL. A proxy on this machine needs none: it may be the only way out.
    ///   - begin: When it may begin.
    init(_ request: TransferRequest, usesNetwork: Bool, begin: Timestamp, deadline: Timestamp) {
        let options = request.options
        let proxy = options.proxy ?? options.proxyVariables?.proxy(for: request.url)
        let isProxyHere = proxy.map(ProxyAddress.isLoopback) ?? false
        asked = EligibilityKey(
            request.schedule, isDiscretionary: request.isDiscretionary,
            usesNetwork: usesNetwork && !isProxyHere, hasMirrors: !options.mirrors.isEmpty,
            isAwaited: options.failOnFullDisk)
        eligibility = asked.eligibility
        guard eligibility.hasPreferences else { return }
        waiver = PreferenceExpiry(
            begin: begin, after: request.options.waiveAfter, deadline: deadline,
            bytes: request.expectedBytes)
    }
}
