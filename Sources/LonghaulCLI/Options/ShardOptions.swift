import ArgumentParser
import Longhaul

/// The part of this machine in a list that several machines work on.
struct ShardOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Take only the requests of machine I of N, always the same ones.",
            valueName: "i/n"))
    var shard: String?

    func validate() throws {
        if shard != nil, part == nil {
            throw ValidationError("--shard: it is I/N with 1 <= I <= N, as 3/8")
        }
    }

    /// `nil` = the whole list.
    var part: Shard? { shard.flatMap { Shard($0) } }
}

/// Reports while transfers run, and when they have ended.
struct ReportOptions: ParsableArguments {
    @Flag(name: .shortAndLong, help: "Show no progress.")
    var quiet = false

    @Option(
        name: .customLong("report"),
        help: ArgumentHelp(
            "Write how each transfer ended to this file, as JSON Lines for `longhaul report`.",
            valueName: "file"),
        completion: .file())
    var path: String?

    func validate() throws {
        if path == "" { throw ValidationError("the path is empty") }
    }

    /// Replaces the file.
    func begin(_ shard: Shard?) throws(LonghaulError) -> RunReport? {
        try path.map { path throws(LonghaulError) in try RunReport(path, shard) }
    }
}
