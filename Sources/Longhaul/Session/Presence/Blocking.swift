internal import LonghaulCore
internal import LonghaulPlatform

/// Calls that may block for long, on a thread of their own: Swift's shared threads are few and
/// belong to everybody.
enum Blocking {
    static func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws(LonghaulError) -> Value
    ) async throws(LonghaulError) -> Value {
        let result: Result<Value, LonghaulError> = await withCheckedContinuation { continuation in
            DetachedThread.start(name: "longhaul-call") {
                continuation.resume(returning: Result(catching: body))
            }
        }
        return try result.get()
    }
}

extension LonghaulError {
    static func noThread(_ consequence: String = "") -> LonghaulError {
        LonghaulError(.io, "no thread can be started (see ulimit -u)" + consequence)
    }
}
