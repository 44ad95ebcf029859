internal import Longhaul
internal import NIOHTTP1

/// Watched folders over HTTP. They are added on the command line: a folder may send any file of
/// the machine.
enum FolderRoutes {
    static let all: [Route] = [
        Route(
            method: .GET, pattern: "/v1/folders", summary: "watched folders, by name",
            answer: .list("folders", of: "Folder")
        ) { call in
            call.list("folders", try Folders(call.queue.queue).all())
        },
        Route(
            method: .GET, pattern: "/v1/folders/{name}", summary: "a watched folder",
            answer: .json("Folder")
        ) { call in
            try answer(call)
        },
        action("scan", "look for the files of a folder now") { try $0.scan($1) },
        action("pause", "pause a folder") { try $0.pause($1) },
        action("resume", "resume a paused folder") { try $0.resume($1) },
    ]

    private static func action(
        _ action: String, _ summary: String,
        _ perform: @escaping @Sendable (Folders, String) throws -> Void
    ) -> Route {
        Route(
            method: .POST, pattern: "/v1/folders/{name}/\(action)", summary: summary,
            answer: .json("Folder")
        ) { call in
            try call.queue.checkWritable()
            try perform(Folders(call.queue.queue), call.name())
            return try answer(call)
        }
    }

    private static func answer(_ call: RouteCall) throws -> ServedAnswer {
        var json = JSONText()
        json.value(try Folders(call.queue.queue).find(call.name()))
        return ServedAnswer(json: json)
    }
}
