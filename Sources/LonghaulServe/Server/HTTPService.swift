internal import Longhaul
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// Seconds that a client has for a whole request, between two of them, and to show the secret.
let servedRequestSeconds: Int64 = 30
/// Delay of the answer to a wrong secret.
private let wrongSecretSeconds: Int64 = 1

/// Answers requests: refused ones at once, all others on a thread of the pool, where the store may
/// block.
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
        requestSeconds: Int64 = servedRequestSeconds
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
        if let host = request.wokenHost { return wake(host, request, on: loop) }
        let isRPC = request.path == ["jsonrpc"]
        let isForPage = request.path.isEmpty && [.GET, .HEAD].contains(request.method)
        // The page asks for the secret itself; calls over JSON-RPC may have it as `token:`.
        let hasTicket = queue.tickets.admit(request)
        let verdict = gatekeeper.verdict(
            request.headers, proven: isRPC || hasTicket,
            target: isForPage ? .page : request.fileID != nil ? .file : .data)
        switch verdict {
        case .admitted: break
        case .foreign(let reason):
            return loop.makeSucceededFuture(ServedAnswer(LonghaulError(.notPermitted, reason)))
        case .unproven: return loop.makeSucceededFuture(unauthorized("a secret is needed"))
        case .disproven: return slowly(unauthorized("the secret is wrong"), loop)
        }
        return run(on: loop) {
            if isRPC {
                let isProven = self.isProven(request.headers)
                var answer = self.rpc.answer(request, isProven: isProven)
                if isProven { answer.isProven = true }
                return answer
            }
            var answer = self.respond(to: request)
            // Every client gets the page: it does not reveal whether a secret is right.
            answer.isProven =
                !isForPage && (!hasTicket || self.isProven(request.headers))
                || self.gatekeeper.secret == nil
            return answer
        }.flatMap { answer in
            answer.isSlow ? self.slowly(answer, loop) : loop.makeSucceededFuture(answer)
        }
    }

    /// Answers a request that the token of a host admits, or the server's secret. The answers to a
    /// wrong token and for an unknown host are alike.
    private func wake(
        _ host: String, _ request: ServedRequest, on loop: any EventLoop
    ) -> EventLoopFuture<ServedAnswer> {
        if let reason = gatekeeper.foreignness(ofWakeUp: request.headers) {
            return loop.makeSucceededFuture(ServedAnswer(LonghaulError(.notPermitted, reason)))
        }
        guard let token = gatekeeper.bearer(request.headers) else {
            return loop.makeSucceededFuture(unauthorized("the token of the host is needed"))
        }
        return run(on: loop) {
            let isProven = self.gatekeeper.secret?.matches(token) ?? false
            do throws(LonghaulError) {
                guard try HostPushes(self.queue.queue).admits(token: token, host: host) || isProven
                else {
                    var answer = self.unauthorized("the token is wrong, or there is no such host")
                    answer.isSlow = true
                    return answer
                }
            } catch {
                return ServedAnswer(error)
            }
            var answer = self.respond(to: request)
            answer.isProven = isProven
            return answer
        }.flatMap { answer in
            answer.isSlow ? self.slowly(answer, loop) : loop.makeSucceededFuture(answer)
        }
    }

    /// The answer to a text over WebSocket.
    func answer(
        text: [UInt8], isProven: Bool, on loop: any EventLoop
    ) -> EventLoopFuture<RPCReply> {
        run(on: loop) { self.rpc.answer(text: text, isProven: isProven) }.flatMap { reply in
            reply.isUnauthorized
                ? loop.scheduleTask(in: .seconds(wrongSecretSeconds)) { reply }.futureResult
                : loop.makeSucceededFuture(reply)
        }
    }

    /// Runs work that may block.
    func run<Result: Sendable>(
        on loop: any EventLoop, _ work: @escaping @Sendable () -> Result
    ) -> EventLoopFuture<Result> {
        pool.runIfActive(eventLoop: loop, work)
    }

    private func respond(to request: ServedRequest) -> ServedAnswer {
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
        loop.scheduleTask(in: .seconds(wrongSecretSeconds)) { answer }.futureResult
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
        answer.isProven = gatekeeper.secret == nil
        answer.headers = [
            ("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE, OPTIONS"),
            (
                "Access-Control-Allow-Headers",
                ["Authorization", "Content-Type", "Last-Event-ID"].joined(separator: ", ")
            ),
            ("Access-Control-Max-Age", "600"),
        ]
        return answer
    }
}
