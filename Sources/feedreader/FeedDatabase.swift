import FoundationEssentials

/// The followed feeds and their episodes: a JSON file that is replaced whole, so that a crash
/// leaves the earlier one.
actor FeedDatabase {
    struct Episode: Codable, Sendable {
        var id: String
        var title: String
        var enclosure: String
        var feed = ""
        /// The episode's file was asked for.
        var isAskedFor = false
        /// The name of its file, once it has arrived.
        var file: String?
    }

    struct Contents: Codable, Sendable {
        var feeds: [String] = []
        /// Oldest first.
        var episodes: [Episode] = []
    }

    private let directory: URL
    private var file: URL { directory.appending(path: "feeds.json") }
    /// Directory of the episodes' files.
    nonisolated var enclosures: URL {
        directory.appending(path: "enclosures", directoryHint: .isDirectory)
    }

    init(directory: URL) {
        self.directory = directory
    }

    /// All of it; of a new directory nothing.
    func contents() throws -> Contents {
        guard FileManager.default.fileExists(atPath: file.path) else { return Contents() }
        return try JSONDecoder().decode(Contents.self, from: Data(contentsOf: file))
    }

    private func write(_ contents: Contents) throws {
        try FileManager.default.createDirectory(at: enclosures, withIntermediateDirectories: true)
        try JSONEncoder().encode(contents).write(to: file, options: .atomic)
    }

    func subscribe(_ feeds: [String]) throws {
        var contents = try contents()
        contents.feeds += feeds.filter { !contents.feeds.contains($0) }
        try write(contents)
    }

    /// Adds unknown episodes, and returns their number. Feeds begin with the newest.
    func add(_ found: [Episode], of feed: String) throws -> Int {
        var contents = try contents()
        let known = Set(contents.episodes.map(\.id))
        var fresh = found.filter { !known.contains($0.id) }
        fresh.reverse()
        for index in fresh.indices { fresh[index].feed = feed }
        if fresh.isEmpty { return 0 }
        contents.episodes += fresh
        try write(contents)
        return fresh.count
    }

    func setAskedFor(_ episodes: [Episode]) throws {
        let ids = Set(episodes.map(\.id))
        try change { if ids.contains($0.id) { $0.isAskedFor = true } }
    }

    func setFile(_ name: String, ofEnclosure enclosure: String) throws {
        try change { if $0.enclosure == enclosure { $0.file = name } }
    }

    private func change(_ edit: (inout Episode) -> Void) throws {
        var contents = try contents()
        for index in contents.episodes.indices { edit(&contents.episodes[index]) }
        try write(contents)
    }

    /// The first episode with a file, if there are more than `limit`.
    func oldest(beyond limit: Int) throws -> Episode? {
        let stored = try contents().episodes.filter { $0.file != nil }
        return stored.count > limit ? stored.first : nil
    }

    /// Deletes the file of an episode. The episode stays known, so that it is not fetched again.
    func remove(_ episode: Episode) throws {
        if let name = episode.file {
            let path = enclosures.appending(path: name)
            if FileManager.default.fileExists(atPath: path.path) {
                try FileManager.default.removeItem(at: path)
            }
        }
        try change { if $0.id == episode.id { $0.file = nil } }
    }
}
