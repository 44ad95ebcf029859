import Longhaul

/// Notes on standard error about transfers that are not simply as the command line asks for.
extension Console {

    /// Prints the conditions that hold resumed transfers.
    func sayWaits(_ ids: [TransferID], in queue: TransferQueue) throws {
        if isJSON { return }
        let text = WaitText(time: .current())
        try sayEach(ids, in: queue) { transfer in
            let waits = transfer.waitingFor.filter(\.outlastsResume)
            if waits.isEmpty { return nil }
            let advice =
                waits.contains(where: \.isSetAsideByNow)
                ? "`longhaul now \(transfer.id)` sets that aside"
                : "`longhaul why \(transfer.id)` says more"
            return "waits: \(text.all(waits)); \(advice)"
        } rest: {
            "\(Units.counted($0, "more transfer")) must wait; "
                + "`longhaul list --state waiting` says for what"
        }
    }

    /// Prints that the transfers are not new. A paused one continues only after `resume`.
    func sayRecordedAlready(
        _ ids: [TransferID], in queue: TransferQueue, goesOn: Bool = false
    ) throws {
        try sayEach(ids, in: queue) { transfer in
            let kept = transfer.bytesDone
            let progress = Units.progress(kept, of: transfer.bytesTotal)
            return "recorded already" + (kept > 0 ? ", \(progress) kept" : "")
                + (transfer.droppedBadFile.map { "; tried without its checksum, \($0) goes" } ?? "")
                + (transfer.state == .paused && !goesOn
                    ? ", and paused; resume with: longhaul resume \(transfer.id)" : "")
        } rest: {
            "\(Units.counted($0, "more transfer")) recorded already"
                + (goesOn ? "" : "; paused ones stay so")
        }
    }

    /// Prints the transfers that a change passed over, though nothing is wrong.
    func sayReplaced(_ outcomes: [ChangeOutcome]) {
        var count = 0
        for outcome in outcomes {
            guard case .replaced(by: let other) = outcome.remark else { continue }
            count += 1
            if count > Limits.notedTransfers { continue }
            say(
                "longhaul: \(outcome.id): replaced by \(other), left out; "
                    + "`longhaul retry \(outcome.id)` tries it again")
        }
        let rest = count - Limits.notedTransfers
        if rest > 0 { say("longhaul: \(Units.counted(rest, "more replaced transfer")) left out") }
    }

    /// Prints that a snapshot takes time and space.
    func sayCopying(_ path: String, _ size: Int64) {
        if path == UploadPlace.standardInput {
            return complain(
                "longhaul: standard input is kept in the state directory until its end, and sent "
                    + "from there")
        }
        complain(
            "longhaul: \(TerminalText.shown(path)): copying \(Units.size(size)) for its snapshot, "
                + "as the state directory cannot share its blocks")
    }

    private func sayEach(
        _ ids: [TransferID], in queue: TransferQueue, _ text: (Transfer) -> String?,
        rest: (Int) -> String
    ) throws {
        var count = 0
        var start = 0
        while start < ids.count {
            let page = Array(ids[start...].prefix(Limits.changesPerRead))
            start += page.count
            for transfer in try queue.transfers(page) {
                guard let text = text(transfer) else { continue }
                count += 1
                if count <= Limits.notedTransfers { say("longhaul: \(transfer.id): \(text)") }
            }
        }
        if count > Limits.notedTransfers { say("longhaul: \(rest(count - Limits.notedTransfers))") }
    }
}

extension Transfer {
    /// The file that failed its digest, where the digest does not count any more.
    fileprivate var droppedBadFile: String? {
        guard checksum == nil, let path = held?.partPath, BadFile.isName(path) else { return nil }
        return TerminalText.shown(path)
    }
}

extension WaitReason {
    /// `longhaul now` sets it aside.
    var isSetAsideByNow: Bool {
        switch reason.group {
        case .time: true
        case .condition: reason != .network
        case .pause:
            reason != .storage && nextCheck != nil
                || reason == .originCooldown && required == WaitReason.otherCredentials
        case .turn, .event: false
        }
    }

    /// A condition of the transfer. `resume` ends the others, and an engine takes a moment to carry
    /// that out.
    fileprivate var outlastsResume: Bool {
        reason.group == .time || reason.condition != nil
    }
}
