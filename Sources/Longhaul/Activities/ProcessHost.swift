internal import LonghaulCore
internal import LonghaulPlatform
internal import LonghaulStore
internal import Synchronization

/// The handlers of an expired activity wait so long for its record: afterwards the program may end,
/// or the machine sleep.
private let activityRecordSeconds: Double = 0.5

/// A host that this process is, in a state directory.
struct ProcessHost: Hashable, Sendable {
    var name: String
    var directory: String

    /// The host that an engine has started this process as.
    private static var launched: ProcessHost? {
        guard Environment.value("LONGHAUL_LAUNCH_ID") != nil,
            let name = Environment.value("LONGHAUL_HOST"),
            let directory = Environment.value("LONGHAUL_HOME")
        else { return nil }
        return ProcessHost(name: name, directory: directory)
    }

    /// The hosts that this process takes the work of, with the number of reasons for each.
    private static let present = Mutex<[ProcessHost: Int]>([:])

    func enter() { Self.present.withLock { $0[self, default: 0] += 1 } }

    func leave() {
        Self.present.withLock { present in
            let count = present[self] ?? 0
            present[self] = count > 1 ? count - 1 : nil
        }
    }

    /// Records that an activity of this process has used up its time, for the first of its hosts
    /// that asks for notices. Returns when that is done, or takes longer than a handler may wait.
    static func record(expired activity: String) async {
        let known = present.withLock { Array($0.keys) }.sorted { $0.name < $1.name }
        let hosts = (launched.map { [$0] } ?? []) + known
        if hosts.isEmpty { return }
        let (ends, end) = AsyncStream.makeStream(of: Never.self)
        let hasBegun = DetachedThread.begin(name: "longhaul-notice") {
            _ = hosts.contains { $0.record(expired: activity) }
            end.finish()
        }
        guard hasBegun else { return }
        Task.detached {
            try? await Task.sleep(for: .seconds(activityRecordSeconds))
            end.finish()
        }
        for await _ in ends {}
    }

    private func record(expired activity: String) -> Bool {
        guard let store = try? Store.open(directory: directory, mode: .existing) else {
            return false
        }
        defer { try? store.close() }
        guard (try? store.notices.record(expired: activity, of: name)) == true else { return false }
        WakeChannel.poke(directory)
        return true
    }
}
