import Longhaul

/// What a typed value is relative to.
struct InputContext {
    var now: Timestamp
    /// How far local time is ahead of UTC at that moment.
    var secondsFromUTC: @Sendable (Timestamp) -> Int
    /// Absolute. Where there is none any more, only what is relative is refused.
    var directory: Result<String, LonghaulError>
    /// `nil` = none is set.
    var proxyVariables: ProxyVariables?

    static func current() -> InputContext {
        InputContext(
            now: Platform.now(), secondsFromUTC: LocalZone.secondsFromUTC,
            directory: Result { () throws(LonghaulError) in try WorkingDirectory.path },
            proxyVariables: Platform.proxyVariables.isEmpty ? nil : Platform.proxyVariables)
    }

    func absolute(_ path: String) throws(LonghaulError) -> String {
        if path.isAbsolutePath { return path }
        return absolute(path, in: try directory.get())
    }

    func absolute(_ path: String, in directory: String) -> String {
        if path.isAbsolutePath { return path }
        var relative = Substring(path)
        while relative.hasPrefix("./") { relative = relative.dropFirst(2).drop { $0 == "/" } }
        if relative.isEmpty || relative == "." { return directory }
        return directory == "/" ? "/" + relative : directory + "/" + relative
    }
}

/// A request that lacks nothing but its URL.
struct RequestTemplate {
    var request: TransferRequest
    /// Absolute, but for `.` where there is no current directory: whoever gets no other one is
    /// refused.
    var directory: String
    /// Absolute; the file of the one URL.
    var file: String?

    init(directory: String) {
        self.directory = directory
        request = TransferRequest(url: "", destination: .directory(directory, remoteName: false))
    }

    /// Where a URL goes for which nothing else is said.
    var destination: Destination {
        file.map { .file($0) } ?? .directory(directory, remoteName: request.options.remoteName)
    }

    /// Refuses what is no URL; whether the rest can be done is for the queue to say.
    func request(url: String) throws(LonghaulError) -> TransferRequest {
        var request = request
        request.url = try OptionText.url(url)
        request.destination = destination
        return request
    }

    func requests(urls: [String]) throws(LonghaulError) -> [TransferRequest] {
        if file != nil, urls.count > 1 {
            throw .usage("-o names one file, but there are \(urls.count) URLs; use -d DIR")
        }
        var requests: [TransferRequest] = []
        for url in urls { requests.append(try request(url: url)) }
        return requests
    }
}
