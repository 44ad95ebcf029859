import Foundation
import Glibc
import Longhaul

/// A host for tests: writes a line into a file for all that it does.
///
///     LonghaulTestSession LOG host        with handlers, see below
///     LonghaulTestSession LOG registered  the same tasks as a program for BGTaskScheduler has them
struct TestHost {
    static let identifier = "com.example.host"
    let log: String

    func run(registered: Bool) async throws {
        if registered { return try await runRegistered() }
        var host = BackgroundHost(identifier: Self.identifier)
        host.backgroundTask(.appRefresh("good")) { task in
            say("good \(task.kind.rawValue) \(task.attempt) \(task.payload?.text ?? "-")")
        }
        host.backgroundTask(.processing("bad")) { _ in throw CocoaError(.fileNoSuchFile) }
        host.backgroundTask(.processing("later")) { _ in throw BackgroundTask.Deferred() }
        host.backgroundTask(.processing("nothing")) { _ in throw BackgroundTask.NoData() }
        host.backgroundTask(.processing("slow")) { task in
            say("slow begins")
            do {
                try await Task.sleep(for: .seconds(600))
            } catch {
                say("slow ends \(task.remainingTime)")
                throw error
            }
        }
        host.backgroundTask(.processing("active")) { _ in
            try? await withBackgroundActivity("save document", budget: 0.1) {
                try await Task.sleep(for: .seconds(600))
            }
        }
        host.backgroundTask(.processing("careful")) { task in
            say("careful begins")
            for await reason in task.shouldDefer {
                say("careful \(reason)")
                throw BackgroundTask.Deferred()
            }
        }
        host.backgroundTask(.urlSession("s")) { session, events in
            say(
                "events \(session.identifier) \(events.map(\.kind.rawValue).joined(separator: ","))"
            )
        }
        host.backgroundTask(.wakeUp("ring")) { payload in
            say("ring \(payload?.text ?? "-")")
            if payload?["fails"] != nil { throw CancellationError() }
        }
        if try await host.runIfLaunched() { return }
        say("run by its user")
    }

    private func runRegistered() async throws {
        let scheduler = try await BackgroundTaskScheduler(
            host: HostProgram(identifier: Self.identifier, command: CommandLine.arguments))
        scheduler.register(forTaskWithIdentifier: "good") { task in
            say("good")
            Task { task.setTaskCompleted(success: true) }
        }
        scheduler.register(forTaskWithIdentifier: "bad") { $0.setTaskCompleted(success: false) }
        scheduler.register(forTaskWithIdentifier: "slow") { task in
            say("slow begins")
            task.expirationHandler = {
                say("slow ends \(task.remainingTime)")
                task.setTaskCompleted(success: false)
            }
        }
        if try await scheduler.run() { return }
        say("run by its user")
    }

    private func say(_ line: String) {
        let descriptor = open(log, O_WRONLY | O_APPEND | O_CREAT, 0o600)
        let text = Array((line + "\n").utf8)
        _ = write(descriptor, text, text.count)
        close(descriptor)
    }
}
