internal import Longhaul
internal import LonghaulPlatform
internal import NIOHTTP1

/// Bytes of a job's log that are shown.
private let servedLogBytes = 64 << 10

extension Router {
    static let machine: [Route] = [
        Route(
            method: .GET, pattern: "/v1/status", summary: "the engine, the queue and the rate",
            answer: .json("Status")
        ) { call in
            var status = try call.queue.queue.status()
            status.configuration = ConfigurationFile.inForce
            var json = JSONText()
            json.value(status)
            return ServedAnswer(json: json)
        },
        Route(
            method: .GET, pattern: "/v1/conditions", summary: "the conditions of the machine",
            answer: .list("conditions", of: "Condition")
        ) { call in
            let conditions = try call.queue.queue.conditions()
            var json = JSONText()
            json.object {
                $0.field(
                    "conditions", ConditionKind.allCases.map { ($0, conditions) },
                    as: ConditionKind.fields)
            }
            return ServedAnswer(json: json)
        },
        Route(
            method: .GET, pattern: "/v1/sessions", summary: "sessions, by name",
            answer: .list("sessions", of: "Session")
        ) { call in
            call.list("sessions", try call.queue.queue.sessions())
        },
        Route(
            method: .GET, pattern: "/v1/hosts", summary: "programs that may be launched",
            answer: .list("hosts", of: "Host")
        ) { call in
            call.list("hosts", try call.queue.queue.hosts())
        },
    ]

    static let events: [Route] = [
        Route(
            method: .GET, pattern: "/v1/events",
            summary: "the event log; as Server-Sent Events where the client accepts them",
            parameters: [
                .init(name: "session", kind: .string, summary: "only those of this session"),
                .init(
                    name: "after", kind: .integer(0...Int64.max),
                    summary: "those after this number"),
            ], answer: .events
        ) { call in
            let session = call.text("session")
            let accepts = call.request.headers["accept"].joined(separator: ",")
            let last = call.request.headers.first(name: "last-event-id")?.decimalValue
            let after = try call.number("after", in: 0...Int64.max) ?? 0
            if accepts.contains("text/event-stream") {
                // A number that no event has had yet stands for those to come.
                let newest = try call.queue.queue.lastEventSequence()
                return ServedAnswer(
                    events: EventSubscription(
                        session: session, after: min(last ?? after, newest)))
            }
            let events = try call.queue.queue.events(after: after, session: session)
            return call.list("events", events)
        },
        Route(
            method: .POST, pattern: "/v1/events/ack",
            summary: "acknowledge all events through one, or just one", body: .json("Ack"),
            answer: .json("Acknowledged"), perform: acknowledge),
    ]

    @Sendable
    private static func acknowledge(_ call: RouteCall) throws -> ServedAnswer {
        try call.queue.checkWritable()
        var through: Int64?
        var one: Int64?
        var session: String?
        try call.readBody { key, scanner in
            switch key {
            case "through": through = try scanner.integer()
            case "seq": one = try scanner.integer()
            case "session": session = try scanner.string()
            default: throw LonghaulError.usage("there are through, seq and session")
            }
        }
        var count = 1
        switch (through, one) {
        case (let through?, nil):
            count = try call.queue.queue.acknowledge(through: through, session: session)
        case (nil, let one?): try call.queue.queue.acknowledge(events: [one])
        case (nil, nil), (.some, .some): throw LonghaulError.usage("it has through, or seq")
        }
        var json = JSONText()
        json.object { $0.field("acknowledged", count) }
        return ServedAnswer(json: json)
    }

    static let jobs: [Route] = [
        Route(
            method: .GET, pattern: "/v1/jobs", summary: "jobs, by name",
            answer: .list("jobs", of: "Job")
        ) { call in
            call.list("jobs", try call.queue.queue.jobs.all())
        },
        Route(
            method: .GET, pattern: "/v1/jobs/{name}", summary: "a job with its last runs",
            answer: .json("Job")
        ) { call in
            var json = JSONText()
            json.value(try call.queue.queue.jobs.find(call.name()))
            return ServedAnswer(json: json)
        },
        Route(
            method: .GET, pattern: "/v1/jobs/{name}/log", summary: "the output of a run, its end",
            parameters: [
                .init(
                    name: "run", kind: .integer(1...Int64.max),
                    summary: "the run; the last one without it")
            ], answer: .text("text/plain")
        ) { call in
            let jobs = call.queue.queue.jobs
            let job = try jobs.find(call.name())
            let run = try call.number("run", in: 1...Int64.max) ?? job.lastRun
            let text = run.map {
                jobs.log(of: job.name, run: $0).tail(atMost: servedLogBytes)
            }
            return ServedAnswer(
                type: "text/plain; charset=utf-8", text.map(ShownOutput.text) ?? "")
        },
        jobAction("run", "run a job now, whatever it waits for") { jobs, name in
            try jobs.run(name)
        },
        jobAction("pause", "begin no run of a job until it is resumed") { jobs, name in
            try jobs.setPaused(name, true)
        },
        jobAction("resume", "let runs of a job begin again") { jobs, name in
            try jobs.setPaused(name, false)
        },
        jobAction("cancel", "end the run of a job") { jobs, name in
            try jobs.cancel(name)
        },
    ]

    private static func jobAction(
        _ action: String, _ summary: String,
        _ perform: @escaping @Sendable (Jobs, String) throws -> Void
    ) -> Route {
        Route(
            method: .POST, pattern: "/v1/jobs/{name}/\(action)", summary: summary,
            answer: .json("Job")
        ) { call in
            try call.queue.checkWritable()
            let jobs = call.queue.queue.jobs
            try perform(jobs, call.name())
            var json = JSONText()
            json.value(try jobs.find(call.name()))
            return ServedAnswer(json: json)
        }
    }
}

extension Router {
    static let documents: [Route] = [
        Route(
            method: .GET, pattern: "/metrics", summary: "figures, as OpenMetrics",
            answer: .text("application/openmetrics-text")
        ) { call in
            ServedAnswer(
                type: "application/openmetrics-text; version=1.0.0; charset=utf-8",
                try Metrics.text(of: call.queue))
        },
        Route(
            method: .GET, pattern: "/v1/openapi.json", summary: "this description",
            answer: .json("Document")
        ) { _ in
            ServedAnswer(type: "application/json", OpenAPI.text(of: Router.all.routes))
        },
        Route(
            method: .GET, pattern: "/", summary: "the page", answer: .text("text/html")
        ) { _ in
            ServedAnswer(type: "text/html; charset=utf-8", pageText)
        },
    ]
}
