import LonghaulTestSupport
import NIOCore
import NIOPosix
import Testing

@testable import Longhaul
@testable import LonghaulServe

/// Clients that keep a connection without asking.
@Suite struct SlowClientTests {
    @Test(arguments: [
        "", "GET / HT", "POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
    ])
    func aConnectionWithoutARequestIsClosed(sent: String) async throws {
        let scratch = try Scratch("slow")
        let queue = try TransferQueue(directory: scratch("state"))
        let engine = EngineRun(queue: queue, options: EngineOptions(mode: .serve))
        var options = ServeOptions(directories: [scratch.path])
        options.port = 0
        let pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        let service = HTTPService(
            ServedQueue(queue, engine, options), Gatekeeper(secret: nil, allowedOrigins: []),
            try EventHub(queue), pool, requestSeconds: 1)
        let listener = try HTTPListener(service, .singletonMultiThreadedEventLoopGroup)
            .listen(options)
        let client = try Connection(try #require(listener.localAddress?.port))
        client.write(sent)
        let began = ContinuousClock.now
        #expect(client.read() == "")
        #expect(ContinuousClock.now - began < .seconds(20))
        try await listener.close()
        try await pool.shutdownGracefully()
    }
}
