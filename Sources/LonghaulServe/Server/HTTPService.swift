internal import Longhaul
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// Answers requests: what is not admitted at once, all else on a thread of the pool, where the
/// store may block.
final class HTTPService: Sendable {
    let gatekeeper: Gatekeeper
    let queue: ServedQueue
    let hub: EventHub
    /// Seconds that a client has for a whole request, or between two of them.
    let requestSeconds: Int64
    private let router: Router
    private let rpc: RPCEndpoint
    private let pool: NIOThreadPool

    /// Fields of each answer: nothing is kept, framed, guessed or loaded from elsewhere.
    static let headers: [(String, String)] = [
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
                + "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
                + "frame-ancestors 'none'"
        ),
    ]

    init(
        _ queue: ServedQueue, _ gatekeeper: Gatekeeper, _ hub: EventHub, _ pool: NIOThreadPool,
        requestSeconds: Int64 = Limits.servedRequestSeconds
    ) {
        self.requestSeconds = requestSeconds
        self.queue = queue
        self.gatekeeper = gatekeeper
        self.hub = hub
        self.pool = pool
        router = Router.all
        rpc = RPCEndpoint(queue)
    }

    func answer(_ request: ServedRequest, on loop: any EventLoop) -> EventLoopFuture<ServedAnswer> {
        if request.method == .OPTIONS { return loop.makeSucceededFuture(preflight(request)) }
        let isRPC = request.path == ["jsonrpc"]
        // The page asks for the secret itself; calls over JSON-RPC may have it as `token:`.
        let isOpen = request.path.isEmpty || isRPC
        switch gatekeeper.verdict(request.headers, proven: isOpen) {
        case .admitted: break
        case .foreign(let reason):
            var answer = ServedAnswer(LonghaulError(.notPermitted, reason))
            answer.closes = true
            return loop.makeSucceededFuture(answer)
        case .unproven: return loop.makeSucceededFuture(unauthorized("a secret is needed"))
        case .disproven: return slowly(unauthorized("the secret is wrong"), loop)
        }
        return run(on: loop) { self.respond(to: request, isRPC: isRPC) }.flatMap { answer in
            answer.isSlow ? self.slowly(answer, loop) : loop.makeSucceededFuture(answer)
        }
    }

    /// The answer to a text over WebSocket.
    func answer(
        text: String, isProven: Bool, on loop: any EventLoop
    ) -> EventLoopFuture<SocketReply> {
        run(on: loop) { self.rpc.answer(text: text, isProven: isProven) }.flatMap { reply in
            let socket = SocketReply(text: reply.json.text, isAuthorized: reply.code == 0)
            return reply.isUnauthorized
                ? loop.scheduleTask(in: .seconds(Limits.wrongSecretSeconds)) { socket }.futureResult
                : loop.makeSucceededFuture(socket)
        }
    }

    struct SocketReply: Sendable {
        var text: String
        /// The call was carried out: the client knows the secret.
        var isAuthorized: Bool
    }

    /// Runs work that may block.
    func run<Result: Sendable>(
        on loop: any EventLoop, _ work: @escaping @Sendable () -> Result
    ) -> EventLoopFuture<Result> {
        pool.runIfActive(eventLoop: loop, work)
    }

    private func respond(to request: ServedRequest, isRPC: Bool) -> ServedAnswer {
        if isRPC {
            return rpc.answer(request, isProven: isProven(request.headers))
        }
        do {
            return try router.answer(request, queue)
        } catch let error as LonghaulError {
            return ServedAnswer(error)
        } catch {
            return ServedAnswer(LonghaulError(.internal, "\(error)"))
        }
    }

    /// The header has the secret, or none is asked for.
    func isProven(_ headers: HTTPHeaders) -> Bool {
        guard let secret = gatekeeper.secret else { return true }
        return gatekeeper.bearer(headers).map(secret.matches) ?? false
    }

    private func slowly(
        _ answer: ServedAnswer, _ loop: any EventLoop
    ) -> EventLoopFuture<ServedAnswer> {
        loop.scheduleTask(in: .seconds(Limits.wrongSecretSeconds)) { answer }.futureResult
    }

    private func unauthorized(_ text: String) -> ServedAnswer {
        var answer = ServedAnswer(LonghaulError(.unauthorized, text), .unauthorized)
        answer.headers = [("WWW-Authenticate", "Bearer")]
        return answer
    }

    /// The question of a browser whether a page of another origin may send the request.
    private func preflight(_ request: ServedRequest) -> ServedAnswer {
        guard gatekeeper.sharedOrigin(request.headers) != nil else {
            return ServedAnswer(LonghaulError(.notPermitted, "the page's origin is another"))
        }
        var answer = ServedAnswer(.noContent, type: "text/plain", "")
        answer.headers = [
            ("Access-Control-Allow-Methods", "GET, POST, PATCH, DELETE, OPTIONS"),
            (
                "Access-Control-Allow-Headers",
                ["Authorization", "Content-Type", "Last-Event-ID"].joined(separator: ", ")
            ),
            ("Access-Control-Max-Age", "600"),
        ]
        return answer
    }
}
