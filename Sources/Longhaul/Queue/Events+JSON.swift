internal import LonghaulCore

extension JSONText {
    /// An event with its transfer, as `events` prints it and a host reads it.
    package mutating func loggedEvent(_ event: EventRecord, isForHost: Bool = false) {
        object {
            $0.field("seq", event.sequence)
            $0.field("at", event.at)
            $0.field("session", event.session)
            $0.field("type", event.type)
            $0.field("transferID", event.transferID?.rawValue)
            if let transfer = event.transfer {
                $0.field("transfer") { $0.transferFields(transfer, isForHost: isForHost) }
            } else {
                $0.field("transfer", String?.none)
            }
            $0.field("path", event.path)
            $0.field("detail", json: event.detail)
            $0.field("acknowledgedAt", event.acknowledgedAt)
        }
    }

    package mutating func session(_ session: SessionRecord) {
        object {
            $0.field("id", session.name)
            $0.field("host", session.settings.host)
            $0.field("discretionary", session.settings.isDiscretionary)
            $0.field("launchEvents", session.settings.launchEvents)
            $0.field("askBeforeStart", session.settings.askBeforeStart)
            $0.field(
                "launchDelay",
                seconds: session.settings.launchDelay ?? SessionSettings.defaultLaunchDelay)
            $0.field("createdAt", session.createdAt)
            $0.field("counts") {
                for state in TransferState.allCases {
                    $0.field(named: state.rawValue, session.counts[state] ?? 0)
                }
            }
            $0.field("waitingEvents", session.waitingEvents)
            $0.field("acknowledgedThrough", session.acknowledgedThrough)
            $0.field("acknowledgingLaunch", session.acknowledgingLaunch)
        }
    }
}
