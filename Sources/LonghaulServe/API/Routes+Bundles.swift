internal import Longhaul
internal import NIOHTTP1

/// Bundles over HTTP. They are added on the command line: a source may name any file of the
/// machine.
enum BundleRoutes {
    static let all: [Route] = [
        Route(
            method: .GET, pattern: "/v1/bundles", summary: "bundles, by name",
            answer: .list("bundles", of: "Bundle")
        ) { call in
            call.list("bundles", try Bundles(call.queue.queue).all())
        },
        Route(
            method: .GET, pattern: "/v1/bundles/{name}", summary: "a bundle",
            answer: .json("Bundle")
        ) { call in
            try answer(call)
        },
        action("ensure", "fetch what is missing of a bundle") { bundles, name in
            _ = try bundles.want(name, latest: false)
        },
        action("check", "ask the source of a bundle for its version") { bundles, name in
            try bundles.check(name)
        },
        action("pause", "pause a bundle") { try $0.pause($1) },
        action("resume", "resume a paused bundle") { try $0.resume($1) },
        action("now", "let a bundle continue now, regardless of its conditions") {
            try $0.runNow($1)
        },
        action("cancel", "end what is done for a bundle") { try $0.cancel($1) },
    ]

    private static func action(
        _ action: String, _ summary: String,
        _ perform: @escaping @Sendable (Bundles, String) throws -> Void
    ) -> Route {
        Route(
            method: .POST, pattern: "/v1/bundles/{name}/\(action)", summary: summary,
            answer: .json("Bundle")
        ) { call in
            try call.queue.checkWritable()
            try perform(Bundles(call.queue.queue), call.name())
            return try answer(call)
        }
    }

    private static func answer(_ call: RouteCall) throws -> ServedAnswer {
        var json = JSONText()
        json.value(try Bundles(call.queue.queue).find(call.name()))
        return ServedAnswer(json: json)
    }
}
