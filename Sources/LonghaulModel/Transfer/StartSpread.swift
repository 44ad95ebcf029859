/// Places that transfers of one machine have in a spread.
private let spreadPlaces: Int64 = 64

/// Chooses when a transfer with ``TransferOptions/spread`` begins, so that the machines of a fleet
/// do not begin at one moment.
///
/// The choice follows from the machine and from the transfer, and is therefore the same each time.
/// The transfers of one machine have few places: each place used with windows is a separate
/// eligibility.
package struct StartSpread: Sendable {
    /// 0 ..< 1: the part of the spread that passes before the begin.
    private let place: Double

    /// - Parameter machine: The place of the machine among others, 0 ..< 1.
    package init(_ id: TransferID, machine: Double) {
        // The golden ratio puts the ids that follow each other far apart.
        let own = Double(id.rawValue % spreadPlaces) * 0.618_033_988_749_895
        place = (machine + own).truncatingRemainder(dividingBy: 1)
    }

    /// Whole seconds, less than the spread.
    package func delay(within spread: Double) -> Double { (spread * place).rounded(.down) }

    /// Puts the begin of a new request, and the openings of its windows, off.
    package func apply(to request: inout TransferRequest, now: Timestamp) {
        let delay = delay(within: request.options.spread)
        request.schedule.windows?.delay = delay
        if delay > 0 { request.earliestBegin = max(now, request.earliestBegin ?? now) + delay }
    }

    /// The same for a request that was changed.
    ///
    /// - Parameter saysBegin: The change has an earliest begin, or takes it away.
    package func apply(
        to request: inout TransferRequest, insteadOf old: TransferRequest, saysBegin: Bool,
        now: Timestamp
    ) {
        if !saysBegin {
            let before = delay(within: old.options.spread)
            guard delay(within: request.options.spread) != before else {
                request.schedule.windows?.delay = before
                return
            }
            if before > 0 { request.earliestBegin = old.earliestBegin.map { $0 + -before } }
        }
        apply(to: &request, now: now)
    }
}
