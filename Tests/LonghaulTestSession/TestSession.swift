import Foundation
import Longhaul

/// A program with a session, for tests that need a second process, or one to kill:
///
///     LonghaulTestSession STORE data URL awaits the data, says its size, acknowledges nothing
///     LonghaulTestSession STORE stay is the engine when no other is, until it is killed
///     LonghaulTestSession STORE exit URL FILE asks for a file and ends at once, as the engine
///     LonghaulTestSession - activity NAME leaks an activity, holds another until it is killed
///     LonghaulTestSession LOG host|registered is a host, see `TestHost`
///     LonghaulTestSession STORE submit TASK asks for a launch and ends
///     LonghaulTestSession STORE leave URL       opens and leaves 55 sessions, says what is left
///
/// What has happened is one line on standard output each.
@main struct TestSession {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 2 else { exit(64) }
        if arguments[2] == "host" || arguments[2] == "registered" {
            return try await TestHost(log: arguments[1])
                .run(registered: arguments[2] == "registered")
        }
        var configuration = BackgroundSession.Configuration()
        configuration.store = arguments[1]
        if arguments[2] == "activity" { return try await hold(arguments[3]) }
        if arguments[2] == "submit" {
            let host = HostProgram(
                identifier: "com.example.host", command: ["/bin/true"],
                permittedTaskIdentifiers: [arguments[3]])
            let scheduler = try await BackgroundTaskScheduler(host: host, store: arguments[1])
            return try await scheduler.submit(AppRefreshTaskRequest(identifier: arguments[3]))
        }
        if arguments[2] == "leave" {
            return try await leave(configuration, request(arguments[3]))
        }
        let session = try await BackgroundSession(
            identifier: "com.example.test", configuration: configuration)
        say("open")
        switch (arguments[2], arguments.count) {
        case ("data", 4):
            let (data, response) = try await session.data(for: request(arguments[3]))
            say("data \(data.count) \(response.statusCode ?? 0)")
        case ("stay", 3):
            while true { try await Task.sleep(for: .seconds(60)) }
        case ("exit", 5):
            let task = try await session.download(
                request(arguments[3]), to: URL(fileURLWithPath: arguments[4]))
            for try await progress in task.progress where progress.bytesDone > 0 { break }
            say("moving \(task.id)")
        default: exit(64)
        }
    }

    static func hold(_ name: String) async throws {
        do { _ = try BackgroundActivity.begin(name) }
        try await withBackgroundActivity(name, budget: 600) {
            while !BackgroundActivity.holdsSleepBack {
                try await Task.sleep(for: .milliseconds(5))
            }
            say("held")
            try await Task.sleep(for: .seconds(600))
        }
    }

    static func leave(
        _ configuration: BackgroundSession.Configuration, _ request: TransferRequest
    ) async throws {
        for index in 1...55 {
            let session = try await BackgroundSession(
                identifier: "session\(index % 3)", configuration: configuration)
            _ = try await session.data(for: request)
            try await session.invalidate()
            // What libraries keep for a process's life is there after a few.
            if index == 5 || index == 55 { say("\(index) " + (try await settled())) }
        }
        // Without a word of good-bye.
        for index in 1...5 {
            var configuration = configuration
            configuration.host = HostProgram(identifier: "com.example.test", command: ["/bin/true"])
            let session = try await BackgroundSession(
                identifier: "dropped\(index)", configuration: configuration)
            session.onInputNeeded { _ in .continue }
            _ = try await session.data(for: request)
        }
        say("60 " + (try await settled()))
    }

    /// The numbers of our threads, which their names tell, and of descriptors, once no more go
    /// away: the kernel takes a moment to bury a thread that has ended.
    static func settled() async throws -> String {
        var found = ""
        for _ in 1...100 {
            let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
                .compactMap {
                    try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8)
                }.filter { $0.hasPrefix("longhaul") && $0 != "longhaul-test\n" }
            let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
            found = "\(names.count) \(open.count)"
            if names.isEmpty { break }
            try await Task.sleep(for: .milliseconds(20))
        }
        return found
    }

    static func request(_ text: String) -> TransferRequest {
        guard let url = URL(string: text) else { exit(64) }
        var request = TransferRequest(url: url)
        request.options.connections = .exactly(1)
        return request
    }

    static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
