import Dispatch
import LonghaulTestSupport
import NIOCore
import NIOPosix
import Testing

@testable import Longhaul
@testable import LonghaulServe

/// Clients that keep a connection without asking, or send without reading.
@Suite struct SlowClientTests {
    /// A server in this process, with one thread for its answers.
    private struct Server {
        let scratch: Scratch
        let pool = NIOThreadPool(numberOfThreads: 1)
        let listener: any Channel
        let port: Int

        init(secret: String? = nil, seconds: Int64 = 30) throws {
            scratch = try Scratch("slow")
            let queue = try TransferQueue(directory: scratch("state"))
            let engine = EngineRun(queue: queue, options: EngineOptions(mode: .serve))
            var options = ServeOptions(directories: [scratch.path])
            options.port = 0
            options.secret = try secret.map { try Secret($0) }
            pool.start()
            let gatekeeper = Gatekeeper(secret: options.secret, allowedOrigins: [])
            let service = HTTPService(
                ServedQueue(queue, engine, options), gatekeeper, try EventHub(queue), pool,
                requestSeconds: seconds)
            listener = try HTTPListener(service, .singletonMultiThreadedEventLoopGroup)
                .listen(options)
            port = try #require(listener.localAddress?.port)
        }

        func stop() async throws {
            try await listener.close()
            try await pool.shutdownGracefully()
        }
    }

    @Test(arguments: [
        "", "GET / HT", "POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
    ])
    func aConnectionWithoutARequestIsClosed(sent: String) async throws {
        let server = try Server(seconds: 1)
        let client = try Connection(server.port)
        client.write(sent)
        let began = ContinuousClock.now
        #expect(client.read() == "")
        #expect(ContinuousClock.now - began < .seconds(20))
        try await server.stop()
    }

    /// Without the secret a connection does not last, whatever it sends.
    @Test(arguments: [[], ["system.listMethods"], ["aria2.getVersion"]])
    func aSocketWithoutTheSecretIsClosed(methods: [String]) async throws {
        let server = try Server(secret: "s3cret", seconds: 2)
        let client = try Connection(server.port)
        try client.upgrade()
        for method in methods {
            client.write(Connection.frame(#"{"id":1,"method":"\#(method)","params":["token:x"]}"#))
        }
        #expect(!client.read().contains("onDownload"))
        let known = try Connection(server.port)
        try known.upgrade()
        known.write(
            Connection.frame(#"{"id":1,"method":"aria2.getVersion","params":["token:s3cret"]}"#))
        #expect(known.read(until: "version").contains("result"))
        let other = try Connection(server.port)
        try other.upgrade()
        #expect(other.read() == "")
        known.write(
            Connection.frame(#"{"id":2,"method":"aria2.getVersion","params":["token:s3cret"]}"#))
        #expect(known.read(until: "version").contains("result"))
        try await server.stop()
    }

    /// One answer, and the connection is free for others.
    @Test(arguments: ["GET / HTTP/1.1", "GET /v1/status HTTP/1.1", "GET /jsonrpc HTTP/1.1"])
    func anAnswerToAStrangerEndsTheConnection(line: String) async throws {
        let server = try Server(secret: "s3cret")
        let client = try Connection(server.port)
        client.write("\(line)\r\nHost: localhost\r\n\r\n")
        let began = ContinuousClock.now
        #expect(client.read().contains("Connection: close"))
        #expect(ContinuousClock.now - began < .seconds(20))
        try await server.stop()
    }

    /// The end of a client is seen at once, not when a timer fires.
    @Test(arguments: ["GET /v1/status HTTP/1.1", "HEAD / HTTP/1.1"])
    func aClientThatHasItsAnswerFreesItsPlace(line: String) async throws {
        let server = try Server()
        let began = ContinuousClock.now
        let after = try Connection(server.port)
        after.write("\(line)\r\nHost: localhost\r\n\r\n")
        #expect(after.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200"))
        after.endWriting()
        _ = after.read()
        let before = try Connection(server.port)
        before.write("\(line)\r\nHost: localhost\r\n\r\n")
        before.endWriting()
        #expect(before.read().hasPrefix("HTTP/1.1 200"))
        let socket = try Connection(server.port)
        try socket.upgrade()
        socket.endWriting()
        _ = socket.read()
        #expect(ContinuousClock.now - began < .seconds(20))
        try await server.stop()
    }

    /// While a call is being answered, or a client does not read, the rest stays with the client.
    @Test(arguments: ["texts", "pings", "requests"])
    func unansweredBytesStayWithTheClient(kind: String) async throws {
        let server = try Server()
        let most = 64 << 20
        let client = try Connection(server.port)
        let sent: Int
        switch kind {
        case "texts":
            // The only thread is busy, so the first call is not answered.
            let gate = DispatchSemaphore(value: 0)
            server.pool.submit { _ in gate.wait() }
            try client.upgrade()
            sent = client.fill(with: Connection.frame(#"{"id":1}"#), upTo: most)
            gate.signal()
        case "pings":
            try client.upgrade()
            let ping = [0x89, 0xFD, 0, 0, 0, 0] + [UInt8](repeating: 0, count: 125)
            sent = client.fill(with: ping, upTo: most)
        default:
            let request = Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
            sent = client.fill(with: request, upTo: most)
        }
        #expect(sent < most / 2)
        try await server.stop()
    }

    /// A text of four mebibytes each from many strangers.
    @Test func halfSentRequestsAreBoundedTogether() async throws {
        let server = try Server(secret: "s3cret", seconds: 600)
        let head =
            "POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000\r\n\r\n"
        let part = Array(head.utf8) + [UInt8](repeating: 0x20, count: 3_900_000)
        var clients: [Connection] = []
        for _ in 0..<20 {
            let client = try Connection(server.port)
            client.write(part)
            clients.append(client)
        }
        try await eventually("of 78 MB 64 MiB are kept") { clients.contains { $0.isClosed } }
        try await server.stop()
    }

    @Test func theEndDoesNotWaitForAnAnswer() throws {
        let pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let answering = DispatchSemaphore(value: 0)
        let gate = DispatchSemaphore(value: 0)
        pool.submit { _ in
            answering.signal()
            gate.wait()
        }
        // The end cancels an answer that no thread has begun.
        answering.wait()
        let began = ContinuousClock.now
        #expect(!ServeProgram.end(pool, group, within: 0.05))
        #expect(ContinuousClock.now - began < .seconds(20))
        gate.signal()
        let idle = NIOThreadPool(numberOfThreads: 1)
        idle.start()
        #expect(ServeProgram.end(idle, MultiThreadedEventLoopGroup(numberOfThreads: 1)))
    }
}
