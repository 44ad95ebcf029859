internal import Longhaul
internal import LonghaulPlatform
internal import NIOHTTP1

/// Settings of the server, and the rate limit of all transfers.
enum SettingsRoutes {
    static let all: [Route] = [
        Route(
            method: .GET, pattern: "/v1/settings",
            summary: "settings of the server: directories, limits, retention, defaults",
            answer: .json("Settings"), perform: showSettings),
        Route(
            method: .GET, pattern: "/v1/limit",
            summary: "the rate limit of all transfers together", answer: .json("Limit")
        ) { call in
            try shownLimit(call)
        },
        Route(
            method: .PUT, pattern: "/v1/limit",
            summary: "limit the rate of all transfers together, for this engine and later ones",
            body: .json("NewLimit"), answer: .json("Limit"), perform: setLimit),
    ]

    private static func shownLimit(_ call: RouteCall) throws -> ServedAnswer {
        let control = RateControl(call.queue.queue)
        var json = JSONText()
        let limit = try control.limit()
        let configured = control.rate(of: call.queue.engineLimits.rates)
        json.object {
            $0.field("rateLimit", limit)
            $0.field("configured", configured)
        }
        return ServedAnswer(json: json)
    }

    @Sendable
    private static func setLimit(_ call: RouteCall) throws -> ServedAnswer {
        try call.queue.checkWritable()
        var limit: RateOverride?
        var seconds: Double?
        var isSaid = false
        try call.readBody { key, scanner in
            switch key {
            case "rate":
                isSaid = true
                if scanner.null() { return }
                let text = try scanner.isString() ? scanner.string() : "\(try scanner.integer())"
                limit = RateOverride(
                    bytesPerSecond: text == "off" ? nil : try OptionText.rate(text, key))
            case "for":
                if scanner.null() { return }
                seconds = try OptionText.duration(try scanner.durationText(), key)
            default: throw LonghaulError.usage("there are rate and for")
            }
        }
        guard isSaid else {
            throw LonghaulError.usage("rate: it is bytes a second, off, or null as configured")
        }
        if let seconds {
            guard limit != nil, seconds > 0 else {
                throw LonghaulError.usage("for: it is the time of a rate, and more than 0")
            }
            limit?.until = SystemClock.now().wall + seconds
        }
        try RateControl(call.queue.queue).set(limit)
        return try shownLimit(call)
    }

    @Sendable
    private static func showSettings(_ call: RouteCall) throws -> ServedAnswer {
        let served = call.queue
        let limits = served.engineLimits
        let request = served.template().request
        var json = JSONText()
        json.object {
            $0.field("version", LonghaulVersion.current)
            $0.field("readOnly", served.isReadOnly)
            $0.field("changesJobs", served.allowsJobs && !served.isReadOnly)
            $0.field("secret", served.secret != nil)
            $0.field("configuration", served.configuration)
            $0.field("directories", served.directories.all)
            $0.field("limits") {
                $0.field("running", limits.running)
                $0.field("perOrigin", limits.perOrigin)
                $0.field("rate", limits.rates.bytesPerSecond)
                $0.field("rates", limits.rates.parts)
            }
            $0.field("retention") {
                $0.field("ended", limits.retention.ended)
                $0.field("events", limits.retention.events)
                $0.field("parts", limits.retention.parts)
            }
            $0.field("defaults") {
                $0.field("priority", request.priority.name)
                $0.optionFields(request.options)
            }
        }
        return ServedAnswer(json: json)
    }
}

/// Changes of jobs, where the server allows them.
enum JobChangeRoutes {
    static let all: [Route] = [
        Route(
            method: .PUT, pattern: "/v1/jobs/{name}",
            summary: "create a job, or replace it and keep its environment and history",
            body: .json("NewJob"), answer: .json("Job")
        ) { call in
            try call.queue.checkJobsWritable()
            let jobs = call.queue.queue.jobs
            let name = call.name()
            var old: JobSettings?
            do throws(LonghaulError) {
                old = try jobs.find(name).settings
            } catch {
                guard error.code == .noSuchHost else { throw error }
            }
            let input = try call.request.body.withUnsafeBufferPointer {
                try JobInput(json: $0, replacing: old, call.queue.context())
            }
            _ = try jobs.add(name, input.argv, input.settings, input.request)
            var json = JSONText()
            json.value(try jobs.find(name))
            return ServedAnswer(json: json)
        },
        Route(
            method: .DELETE, pattern: "/v1/jobs/{name}",
            summary: "remove a job with its history and logs", answer: .json("RemovedJob")
        ) { call in
            try call.queue.checkJobsWritable()
            try call.queue.queue.jobs.remove(call.name())
            var json = JSONText()
            json.object {
                $0.field("name", call.name())
                $0.field("removed", true)
            }
            return ServedAnswer(json: json)
        },
    ]
}
