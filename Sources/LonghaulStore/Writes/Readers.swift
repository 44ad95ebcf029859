package import LonghaulModel

/// The processes that read the bytes of a transfer in order as they come. The engine fetches those
/// bytes in order while there is one.
///
/// A reader that is killed leaves its row. The transfer is then fetched in order until the row is
/// swept by the next reader or the next engine; nothing else depends on it.
package struct Readers {
    let store: Store

    private enum Column: Int32, StoredColumn { case id, transfer, pid, pidStart, bootID }

    /// Records a reader, and lets its transfer run now, whether or not its conditions hold. A
    /// paused or ended transfer stays so.
    ///
    /// - Parameter start: The first byte that it reads.
    package func enter(
        _ transfer: TransferID, from start: Int64, _ process: LaunchedProcess
    ) throws(LonghaulError) -> ReaderID {
        try store.write(.relaxed) { connection in
            try connection.run(
                """
                INSERT INTO reader (transfer, start, pid, pidStart, bootID) \
                VALUES (?1, ?2, ?3, ?4, ?5)
                """, transfer, start, Int64(process.pid), process.startTicks, process.bootID)
            let id = ReaderID(rawValue: connection.lastInsertedRowID)
            if try isWanted(transfer, connection) {
                try TransferRows(connection).setRunsNow(true, transfer)
            }
            try IntentRows(connection).add(transfer)
            return id
        }
    }

    /// Lets the transfer run now once more: a failed attempt has ended that, and the pause after it
    /// is over.
    package func hasten(_ transfer: TransferID) throws(LonghaulError) {
        try store.write(.relaxed) { connection in
            let isHeldBack: Bool? = try connection.value(
                """
                SELECT waitReason IS NULL AND NOT \(TransferRows.runsNow) FROM transfer \
                WHERE id = ?1
                """, transfer)
            guard isHeldBack == true, try isWanted(transfer, connection) else { return }
            try TransferRows(connection).setRunsNow(true, transfer)
            try IntentRows(connection).add(transfer)
        }
    }

    /// Removes a reader. Its transfer continues.
    package func leave(_ id: ReaderID, of transfer: TransferID) throws(LonghaulError) {
        try store.write(.relaxed) { connection in
            try connection.run("DELETE FROM reader WHERE id = ?1", id.rawValue)
            // An intent would end the pause of a queued transfer.
            let isRunning: Bool? = try connection.value(
                "SELECT phase = 1 FROM transfer WHERE id = ?1", transfer)
            if isRunning == true { try IntentRows(connection).add(transfer) }
        }
    }

    /// Removes the readers that are not alive, and returns their transfers.
    package func sweep(
        isAlive: (LaunchedProcess) -> Bool
    ) throws(LonghaulError) -> [TransferID] {
        let rows = try store.access {
            try $0.all("SELECT \(Column.list) FROM reader") { (row: StoredRow<Column>) in
                (
                    id: row[.id] as ReaderID, transfer: row[.transfer] as TransferID,
                    process: row.process(.pid, start: .pidStart, boot: .bootID)
                )
            }
        }
        let dead = rows.filter { !isAlive($0.process) }
        for row in dead { try leave(row.id, of: row.transfer) }
        return dead.map(\.transfer)
    }

    private func isWanted(_ transfer: TransferID, _ connection: Connection) throws -> Bool {
        try connection.value("SELECT ended = 0 AND want = 0 FROM transfer WHERE id = ?1", transfer)
            ?? false
    }
}

extension Store {
    /// The processes that read the bytes of transfers as they come.
    package var readers: Readers { Readers(store: self) }
}
