/// A server program on ports that were free a moment ago.
struct ServerProcess: Sendable {
    let process: CLIProcess
    let ports: [Int]

    private static let attemptsMax = 5

    /// Starts the program and waits until it accepts connections on every port. If another process
    /// has taken a port in the meantime, it tries again with others.
    ///
    /// - Parameter launch: writes the configuration for these ports and starts the program in the
    ///   foreground.
    static func start(
        ports count: Int, _ launch: ([Int]) async throws -> CLIProcess
    ) async throws -> ServerProcess {
        var said = ""
        for _ in 0..<attemptsMax {
            let ports = try FreePort.some(count)
            let process = try await launch(ports)
            try await eventually("\(process.arguments) listens") {
                !process.isRunning || ports.allSatisfy(FreePort.answers)
            }
            // The other process may have answered: the started one must be running.
            if process.isRunning { return ServerProcess(process: process, ports: ports) }
            said = process.errors + process.output
        }
        throw FixtureFailed(description: "the server does not start: \(said)")
    }

    func stop() async {
        process.sendToGroup(15)
        _ = try? await process.wait(within: .seconds(5))
        process.sendToGroup(9)
    }
}
