internal import LonghaulModel

/// Tasks that end without a run, or cease to wait for transfers.
extension TaskQueue {
    /// Wake-ups that were not handed over in time are dropped, and why is remembered; so are jobs
    /// whose deadline has passed.
    func dropExpired(now: Timestamp) throws {
        let expired = try connection.all(
            TaskColumns.select + """
                 INDEXED BY taskExpires WHERE launch IS NULL AND expiresAt IS NOT NULL \
                AND expiresAt <= ?1
                """, now, read: TaskColumns.read)
        for task in expired {
            if task.kind != .wakeUp {
                try runs.missDeadline(task, now: now)
                try rows.delete(task.id)
                continue
            }
            try WakeUpLog(connection: connection).record(
                task, now: now, launch: nil, obstacle: try obstacle(of: task))
            try rows.delete(task.id)
        }
    }

    /// Reason why the wake-up was not handed over until it expired.
    private func obstacle(of task: StoredTask) throws -> WaitReason.Reason {
        let expired = task.expiresAt ?? task.timing.dueAt
        guard let host = try HostRows(connection).find(task.host) else { return .host }
        if let retry = host.retryAt, host.failures > 0, retry >= expired { return .backoff }
        let isBusy: Bool? = try connection.value(
            "SELECT EXISTS (SELECT 1 FROM launch INDEXED BY launchOpen WHERE host = ?1 "
                + "AND endedAt IS NULL)", task.host)
        // A wake-up that was put off waits for its host.
        return isBusy == true || task.readyAt > task.timing.dueAt ? .host : .engine
    }

    /// Jobs that wait for transfers: a job whose transfers have all completed is due, and one that
    /// has missed a transfer has ended. Each completed transfer is crossed out at once, since it
    /// may be removed before the others complete.
    func followTransfers(now: Timestamp) throws {
        let waiting = try connection.all(
            TaskColumns.select + " INDEXED BY taskAwaits WHERE awaits IS NOT NULL",
            read: TaskColumns.read)
        let transfers = TransferDependencies(connection)
        for task in waiting {
            var open: [TransferID] = []
            var missed: TransferID?
            for id in task.awaits {
                switch try transfers.standing(of: id) {
                case .isOpen: open.append(id)
                case .isCompleted: break
                case .isMissed: missed = missed ?? id
                }
            }
            if let missed {
                try runs.missTransfer(task, missed, now: now)
                try rows.delete(task.id)
            } else if open != task.awaits {
                try crossOut(task, leaving: open, now: now)
            }
        }
    }

    private func crossOut(
        _ task: StoredTask, leaving open: [TransferID], now: Timestamp
    ) throws {
        try connection.run(
            "UPDATE task SET awaits = ?2 WHERE id = ?1", task.id, TransferDependencies.text(open))
        guard open.isEmpty else { return }
        var timing = task.timing
        timing.endWait(of: task.request, now: now)
        try rows.write(timing, of: task.id, now: now)
    }
}
