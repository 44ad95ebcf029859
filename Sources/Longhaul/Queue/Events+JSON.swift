internal import LonghaulCore

/// An event with its transfer, as `events` prints it.
extension EventRecord: ShownRecord {
    package static let fields: [ShownField<EventRecord>] = table { $0.transfer }

    /// An event as a host reads it.
    package static let fieldsForHost = table { $0.transfer.map(HostTransfer.init) }

    private static func table<Shown: ShownValue>(
        _ transfer: @escaping @Sendable (EventRecord) -> Shown?
    ) -> [ShownField<EventRecord>] {
        [
            ShownField("seq") { $0.sequence },
            ShownField("at") { $0.at },
            ShownField("session") { $0.session },
            ShownField("type") { $0.type },
            ShownField("transferID") { $0.transferID },
            ShownField("transfer") { transfer($0) },
            ShownField("path") { $0.path },
            ShownField("detail") { $0.detail.map(ShownJSON.init) },
            ShownField("acknowledgedAt") { $0.acknowledgedAt },
        ]
    }
}

/// A transfer as a host reads it: the answer to an upload is not redacted, as a host may need its
/// address.
struct HostTransfer: ShownRecord {
    let transfer: Transfer

    static let fields: [ShownField<HostTransfer>] = Transfer.fieldsForHost.map {
        ShownField($0) { $0.transfer }
    }
}

extension SessionRecord: ShownRecord {
    package static let fields: [ShownField<SessionRecord>] = [
        ShownField("id") { $0.name },
        ShownField("host") { $0.settings.host },
        ShownField("discretionary") { $0.settings.isDiscretionary },
        ShownField("launchEvents") { $0.settings.launchEvents },
        ShownField("askBeforeStart") { $0.settings.askBeforeStart },
        ShownField("notify") { $0.settings.notifies },
        ShownField("launchDelay") {
            $0.settings.launchDelay ?? SessionSettings.defaultLaunchDelay
        },
        ShownField("createdAt") { $0.createdAt },
        ShownField("counts") { ShownMap($0.counts) },
        ShownField("waitingEvents") { $0.waitingEvents },
        ShownField("acknowledgedThrough") { $0.acknowledgedThrough },
        ShownField("acknowledgingLaunch") { $0.acknowledgingLaunch },
    ]
}
