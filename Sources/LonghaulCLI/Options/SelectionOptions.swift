import ArgumentParser
import Longhaul
import LonghaulPlatform

/// Ids offered to a shell's completion.
private let completedIDs = 200

/// Selects the transfers of a command: ids, a session, or all.
struct SelectionOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp("Ids, as `enqueue` and `list` print them.", valueName: "ids"),
        completion: Candidates.ids)
    var named: [TransferID] = []

    @Flag(help: "All transfers.")
    var all = false

    @Option(help: "All transfers of this session.", completion: Candidates.sessions)
    var session: String?

    func validate() throws {
        let ways = [!named.isEmpty, all, session != nil].filter { $0 }.count
        if ways == 0 { throw ValidationError("say which: ids, --all, or --session S") }
        if ways > 1 { throw ValidationError("ids, --all and --session exclude each other") }
    }

    /// Each id once, in the order of their first mention.
    var ids: [TransferID] { named.uniqued }

    /// A misspelt session has no transfers; without this check all would seem to be done.
    func checkSession(of queue: TransferQueue) throws {
        if let session, try queue.session(session) == nil {
            throw LonghaulError.noSuchSession(session)
        }
    }

    var selection: TransferSelection {
        if let session { return .session(session) }
        return all ? .all : .ids(ids)
    }
}

extension Array where Element: Hashable {
    /// Each once, where it came first.
    var uniqued: [Element] {
        var seen = Set<Element>()
        return filter { seen.insert($0).inserted }
    }
}

/// Completions for the shell while a command line is typed. A queue that cannot be read has none.
enum Candidates {
    static var ids: CompletionKind {
        .custom { _, _, _ in
            var filter = TransferFilter()
            filter.includeAll = true
            filter.limit = completedIDs
            let transfers = try? TransferQueue().transfers(filter)
            return (transfers ?? []).map(\.id.description)
        }
    }

    static var sessions: CompletionKind {
        .custom { _, _, _ in (try? TransferQueue().sessions().map(\.name)) ?? [] }
    }

    static var jobs: CompletionKind {
        .custom { _, _, _ in (try? TransferQueue().jobs.all().map(\.name)) ?? [] }
    }

    static var bundles: CompletionKind {
        .custom { _, _, _ in (try? Bundles(TransferQueue()).all().map(\.name)) ?? [] }
    }

    static var folders: CompletionKind {
        .custom { _, _, _ in (try? Folders(TransferQueue()).all().map(\.name)) ?? [] }
    }

    /// Programs of the PATH; zsh and fish have no `compgen`.
    static var programs: CompletionKind {
        .custom { _, _, _ in
            let folders = (Environment.value("PATH") ?? "").split(separator: ":")
            return folders.flatMap { directoryNames(String($0)) ?? [] }.uniqued.sorted()
        }
    }
}
