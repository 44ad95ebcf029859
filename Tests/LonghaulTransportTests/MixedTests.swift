import LonghaulCore
import LonghaulTestSupport
import LonghaulTransport
import Synchronization
import Testing

/// Everything at once, by seed: whatever is done to requests, each ends once, and no byte is wrong.
@Suite(.timeLimit(.minutes(60)))
struct MixedTests {
    private let body = pattern(0..<200_000)

    /// Behaves as the path says.
    private func server() throws -> ScriptedServer {
        let body = body
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n"
        return try ScriptedServer { request in
            switch request.path {
            case "/empty": [answer(body: [])]
            case "/error": [answer("503 Busy", body: [1, 2, 3])]
            case "/hop": [answer("302 Found", ["Location: /whole"], body: [1])]
            case "/cut": [.send(Array(head.utf8) + body[..<70_000]), .close]
            case "/silent": [.send(Array(head.utf8) + body[..<50_000]), .hang]
            default: [answer(body: body)]
            }
        }
    }

    @Test(arguments: [1, 2, 3, 4])
    func everyRequestEndsOnce(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let server = try server()
        let wire = try Wire()
        let paths = ["/whole", "/empty", "/error", "/hop", "/cut", "/silent"]
        var requests: [(request: SegmentRequest, part: PartFile)] = []
        for _ in 0..<150 {
            let path = paths[Int.random(in: 0..<paths.count, using: &random)]
            let holds = Bool.random(using: &random)
            let part = PartFile()
            var connection = ConnectionSettings()
            connection.ownConnection = Int.random(in: 0..<5, using: &random) == 0
            connection.stallTimeout = 0.5
            var request = wire.request(
                server.url(path), part, end: 200_000, noticeEvery: 10_000,
                limitRate: Bool.random(using: &random) ? 2_000_000 : nil, connection: connection
            ) { head in
                holds && head.status == 200 ? .hold : Wire.takeSuccess(head)
            }
            request.yields = Bool.random(using: &random)
            requests.append((request, part))
        }
        for start in stride(from: 0, to: requests.count, by: 30) {
            wire.transport.start(requests[start..<(start + 30)].map(\.request))
            try await disturb(requests[..<(start + 30)].map(\.request.key), wire, &random)
        }
        try await proceedUntilAllEnded(requests.map(\.request.key), wire)
        wire.transport.shutdown()
        for (request, part) in requests {
            let ends = wire.facts.count {
                if case .ended(request.key, _) = $0 { true } else { false }
            }
            #expect(ends == 1)
            let content = part.content
            #expect(content == Array(body[..<content.count]))
            let outcome = try await wire.outcome(of: request)
            #expect(outcome.heads <= 1)
            #expect(outcome.end.writtenThrough == Int64(content.count))
            if outcome.failure == nil, let length = outcome.head?.headers["content-length"] {
                // A request that is shrunk when it is past its new end ends where it stands.
                #expect(content.count == Int(length) || content.count >= 120_000)
            }
        }
    }

    private func disturb(
        _ keys: [SegmentKey], _ wire: Wire, _ random: inout SeededRandom
    ) async throws {
        for _ in 0..<20 {
            guard let key = keys.randomElement(using: &random) else { return }
            switch Int.random(in: 0..<5, using: &random) {
            case 0: wire.transport.stop([key])
            case 1: wire.transport.proceed(key, BodyPlan(position: 0))
            case 2: wire.transport.shrink(key, end: 120_000)
            case 3: wire.transport.setRate(key, Bool.random(using: &random) ? nil : 5_000_000)
            default: wire.transport.setTotalRate(Bool.random(using: &random) ? nil : 20_000_000)
            }
            await Task.yield()
        }
    }

    private func proceedUntilAllEnded(_ keys: [SegmentKey], _ wire: Wire) async throws {
        wire.transport.setTotalRate(nil)
        let proceeded = Mutex<Set<SegmentKey>>([])
        try await wire.wait { facts in
            var ended: Set<SegmentKey> = []
            for fact in facts {
                switch fact {
                case .head(let key, _, .hold):
                    if proceeded.withLock({ $0.insert(key).inserted }) {
                        wire.transport.proceed(key, BodyPlan(position: 0))
                    }
                case .ended(let key, _): ended.insert(key)
                case .head, .interim, .progress: break
                }
            }
            return ended.count == keys.count ? () : nil
        }
    }
}
