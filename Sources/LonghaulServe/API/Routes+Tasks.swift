internal import Longhaul
internal import NIOHTTP1

extension Router {
    static let tasks: [Route] = [
        Route(
            method: .GET, pattern: "/v1/tasks", summary: "pending and standing requests of hosts",
            answer: .list("tasks", of: "Task")
        ) { call in
            call.list("tasks", try call.queue.queue.tasks.all())
        },
        Route(
            method: .POST, pattern: "/v1/tasks", summary: "begin a continued task of a host",
            body: .json("NewTask"), status: .created, answer: .json("Task"), perform: submit),
        Route(
            method: .GET, pattern: "/v1/tasks/{name}",
            summary: "a task with its waits, its progress and its last runs", parameters: [host],
            answer: .json("Task"), perform: shown),
        Route(
            method: .POST, pattern: "/v1/tasks/{name}/cancel",
            summary: "withdraw a task; the run of a continued one is stopped", parameters: [host],
            answer: .json("Task")
        ) { call in
            try call.queue.checkWritable()
            let before = try find(call)
            try call.queue.queue.tasks.cancel([call.name()], host: before.request.host)
            let after = try call.queue.queue.tasks.find(call.name(), host: before.request.host)
            return answer(after ?? before)
        },
    ]

    private static let host = Route.Parameter(
        name: "host", kind: .string, summary: "the host, where several have such a task")

    @Sendable
    private static func shown(_ call: RouteCall) throws -> ServedAnswer { answer(try find(call)) }

    private static func find(_ call: RouteCall) throws -> TaskRecord {
        guard let task = try call.queue.queue.tasks.find(call.name(), host: call.text("host"))
        else { throw LonghaulError.noSuchTask(call.name()) }
        return task
    }

    private static func answer(
        _ task: TaskRecord, _ status: HTTPResponseStatus = .ok
    ) -> ServedAnswer {
        var json = JSONText()
        json.value(task)
        return ServedAnswer(status, json: json)
    }

    /// Other kinds are submitted by the programs that they belong to.
    @Sendable
    private static func submit(_ call: RouteCall) throws -> ServedAnswer {
        try call.queue.checkWritable()
        var (identifier, title, host, payload): (String?, String?, String?, String?)
        var work = ContinuedWork(title: "")
        try call.readBody { key, scanner in
            switch key {
            case "identifier": identifier = try scanner.string()
            case "title": title = try scanner.string()
            case "subtitle": work.subtitle = scanner.null() ? nil : try scanner.string()
            case "strategy":
                let word = try scanner.string()
                guard let known = SubmissionStrategy(rawValue: word) else {
                    throw LonghaulError.usage("strategy: there are queue and fail")
                }
                work.strategy = known
            case "host": host = scanner.null() ? nil : try scanner.string()
            case "payload": payload = scanner.null() ? nil : try scanner.raw()
            default:
                throw LonghaulError.usage(
                    "there are identifier, title, subtitle, strategy, host and payload")
            }
        }
        guard let identifier, let title else {
            throw LonghaulError.usage("a task has identifier and title")
        }
        work.title = title
        var request = TaskRequest(identifier: identifier, continued: work, host: host)
        request.payload = payload
        return answer(try call.queue.queue.tasks.submit(request), .created)
    }
}
