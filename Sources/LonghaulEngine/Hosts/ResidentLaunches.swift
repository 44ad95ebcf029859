internal import LonghaulCore
internal import LonghaulStore

/// Launches that were handed to processes which run by themselves: engine and process meet in the
/// store alone. The engine writes that a launch is to end, the process what it has done.
struct ResidentLaunches {
    private let writer: StoreWriter

    init(_ writer: StoreWriter) {
        self.writer = writer
    }

    /// Writes the expirations that the processes have not been told.
    func tellExpirations(of launches: inout [LaunchID: KeptLaunch]) throws(LonghaulError) {
        let expired = launches.filter { _, launch in
            launch.resident != nil && launch.isExpired && !launch.isExpirationTold
        }
        if expired.isEmpty { return }
        try writer.transaction(.relaxed) { tx in
            for (id, launch) in expired { try tx.launches.askToEnd(id, launch.expiration ?? .time) }
        }
        for id in expired.keys { launches[id]?.isExpirationTold = true }
    }

    /// What the processes have said. A report is removed by the commit that settles it, so what
    /// cannot be recorded now is read again.
    func reports(of launches: [LaunchID: KeptLaunch]) throws(LonghaulError) -> [HostReport] {
        guard launches.values.contains(where: { $0.resident != nil }) else { return [] }
        return try writer.store.residents.reports().map { report in
            switch report.content {
            case .result(let task, let result): .result(report.launch, task: task, result)
            // The commit of the end finds the status.
            case .ended: .ended(report.launch, .unknown, status: nil, output: "")
            }
        }
    }
}
