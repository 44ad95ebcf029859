internal import LonghaulCore

/// What the columns `schedule`, `lane`, `waiveAt` and `waiveBy` of a transfer hold.
struct StoredSchedule {
    /// As it was asked for.
    var asked: ScheduleClass
    /// Where it queues: `asked`, and without the preferences once they are waived.
    var lane: ScheduleClass
    /// `nil` = there is nothing to waive.
    var waiver: Waiver?

    /// - Parameters:
    ///   - usesNetwork: By its URL. A proxy on this machine needs none: it may be the only way out.
    ///   - begin: When it may begin.
    init(_ request: TransferRequest, usesNetwork: Bool, begin: Timestamp, deadline: Timestamp) {
        let options = request.options
        let proxy = options.proxy ?? options.proxyVariables?.proxy(for: request.url)
        let isProxyHere = proxy.map(ProxyAddress.isLoopback) ?? false
        asked = ScheduleClass(
            request.schedule, isDiscretionary: request.isDiscretionary,
            usesNetwork: usesNetwork && !isProxyHere, hasMirrors: !options.mirrors.isEmpty,
            isAwaited: options.failOnFullDisk)
        lane = asked.lane
        guard lane.hasPreferences else { return }
        waiver = Waiver(
            begin: begin, after: request.options.waiveAfter, deadline: deadline,
            bytes: request.expectedBytes)
    }
}
