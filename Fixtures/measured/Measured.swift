import Foundation
import InMemoryTracing
import Logging
import Longhaul
import LonghaulServiceLifecycle
import Metrics
import MetricsTestKit
import ServiceLifecycle
import Tracing

/// `measured URL FILE` downloads a file, shuts its group down gracefully, and prints what the
/// engine has reported: a line for each counter, gauge and span.
@main struct Measured {
    static func main() async throws {
        let metrics = TestMetrics()
        MetricsSystem.bootstrap(metrics)
        let tracer = InMemoryTracer()
        InstrumentationSystem.bootstrap(tracer)

        var configuration = BackgroundSession.Configuration()
        configuration.engine = .external
        let session = try await BackgroundSession(
            identifier: "com.example.measured", configuration: configuration)
        let group = ServiceGroup(services: [EngineService()], logger: Logger(label: "measured"))
        let run = Task { try await group.run() }
        let words = CommandLine.arguments
        guard words.count == 3, let url = URL(string: words[1]) else { exit(64) }
        var request = TransferRequest(url: url)
        request.options.connections = .exactly(1)
        let task = try await session.download(request, to: URL(fileURLWithPath: words[2]))
        _ = try await task.value
        await group.triggerGracefulShutdown()
        try await run.value
        try await session.invalidate()

        for counter in metrics.counters { print(counter.label, counter.totalValue) }
        for gauge in metrics.recorders {
            print(gauge.label, gauge.dimensions.map(\.1).joined(), Int(gauge.lastValue ?? -1))
        }
        for span in tracer.finishedSpans {
            let code = span.status?.code == .error ? "error" : "well"
            var attributes: [String] = []
            span.attributes.forEach { attributes.append("\($0)=\($1)") }
            print(span.operationName, span.kind, code, attributes.sorted().joined(separator: " "))
        }
    }
}
