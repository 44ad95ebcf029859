import ArgumentParser
import Longhaul

struct Export: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Print unfinished transfers, sessions, hosts and jobs, for `import`.",
        discussion: """
            One JSON object per line. Header fields, passwords, signed URLs and variables with a \
            secret are left out, and named on standard error. So are bundles and watched folders, \
            with their transfers. Bytes and events are not part of it.

              longhaul export > queue.jsonl
              longhaul export | ssh server longhaul import -

            \(ExitStatus.help([.done, .usage, .storeUnavailable]))
            """)

    @OptionGroup var output: OutputOptions

    func perform(on console: Console) throws -> ExitStatus {
        let queue = try TransferQueue.toShow(on: console)
        for host in try queue.hosts() where !host.isJob {
            try write("host", host.name, on: console) { host.writeExported(to: &$0) }
        }
        let owned = try nameOwners(queue, on: console)
        for session in try queue.sessions()
        where session.settings != SessionSettings() && !owned.contains(session.name) {
            try console.line { session.writeExported(to: &$0) }
        }
        var filter = TransferFilter()
        filter.states = [.waiting, .running, .paused]
        filter.includeAll = true
        var ids: [TransferID] = []
        try queue.forEachTransfer(filter) { ids.append($0.id) }
        // The oldest first: a transfer is after earlier ones.
        ids.sort()
        for start in stride(from: 0, to: ids.count, by: Limits.changesPerRead) {
            let page = ids[start...].prefix(Limits.changesPerRead)
            for transfer in try queue.transfers(Array(page))
            where !transfer.state.hasEnded && !owned.contains(transfer.session) {
                try write("transfer", "\(transfer.id)", on: console) {
                    transfer.writeExported(to: &$0)
                }
            }
        }
        for job in try queue.jobs.all() where job.request != nil || !job.settings.isOnce {
            let variables = job.settings.givenEnvironment
            try write("job", job.name, on: console) {
                job.writeExported(to: &$0, variables: variables)
            }
        }
        return .done
    }

    /// Says which bundles and folders are left out, and returns the sessions of their transfers:
    /// those are recorded again where a bundle or a folder is added.
    private func nameOwners(_ queue: TransferQueue, on console: Console) throws -> Set<String> {
        let bundles = try Bundles(queue).all().map(\.name)
        let folders = try Folders(queue).all().map(\.name)
        for (kind, names) in [("bundle", bundles), ("folder", folders)] {
            for name in names {
                console.say(
                    "longhaul: \(kind) \(TerminalText.shown(name)): left out;"
                        + " `\(kind) add` adds it on the other machine")
            }
        }
        return Set(
            bundles.map { String.session(ofBundle: $0) }
                + folders.map { String.session(ofFolder: $0) })
    }

    private func write(
        _ kind: String, _ name: String, on console: Console, _ body: (inout JSONText) -> [String]
    ) throws {
        var leftOut: [String] = []
        try console.line { leftOut = body(&$0) }
        if leftOut.isEmpty { return }
        console.say(
            "longhaul: \(kind) \(TerminalText.shown(name)): left out: "
                + leftOut.map { TerminalText.shown($0) }.joined(separator: ", "))
    }
}
