internal import LonghaulCore

extension TaskQueue {
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
