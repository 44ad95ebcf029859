public import FoundationEssentials
internal import LonghaulCore
internal import Synchronization

/// The servers of a simulated world. Requests take virtual time and no socket.
///
/// Served files support ranges and conditions (RFC 9110, sections 13 and 14). Other addresses
/// answer with 404.
public final class SimulatedNetwork: Sendable {
    /// A fault of one request.
    public enum Fault: Hashable, Sendable {
        /// The connection breaks after this number of bytes of the body.
        case cut(after: Int)
        /// Nothing accepts the connection.
        case refuse
        /// The server falls silent after this number of bytes of the body.
        case stall(after: Int)
        /// The status is answered, with `Retry-After` in seconds if it is not `nil`.
        case status(Int, retryAfter: Int? = nil)
    }

    /// A request as a server sees it.
    public struct Request: Sendable {
        /// When it went out.
        public var date: Date
        /// `GET`, or the method of an upload.
        public var method: String
        /// The URL of the request.
        public var url: URL
        /// The header fields, except the ones common to all requests.
        public var headers: [String: String]
        /// The body that an upload has sent.
        public var body: Data?
    }

    struct Resource {
        var content: [UInt8]
        var entityTag: String?
        var modified: Timestamp
        /// Faults, each for one request that comes, in order.
        var faults: [Fault]
        var takesUploads = false
    }

    private struct State {
        var resources: [String: Resource] = [:]
        var requests: [Request] = []
        var bytesPerSecond: Double = 10_000_000
        var latency = 0.05
    }

    private let clock: VirtualClock
    private let state = Mutex(State())

    init(_ clock: VirtualClock) {
        self.clock = clock
    }

    /// Serves a file from now on, in place of an earlier one at the address.
    ///
    /// - Parameters:
    ///   - url: Without a fragment.
    ///   - content: Of the file.
    ///   - entityTag: Without quotes; `nil` = the server sends no `ETag`, only when the file was
    ///     last modified: now.
    ///   - faults: What goes wrong, one for each request that comes, in order; after them all is
    ///     well.
    public func serve(
        _ url: URL, _ content: Data, entityTag: String? = nil, faults: [Fault] = []
    ) {
        let resource = Resource(
            content: Array(content), entityTag: entityTag.map { "\"\($0)\"" },
            modified: clock.now.wall, faults: faults)
        state.withLock { $0.resources[url.absoluteString] = resource }
    }

    /// Takes what PUT and POST send to the address, and answers with 201. A server that knows no
    /// protocol for resumable uploads.
    ///
    /// - Parameters:
    ///   - url: Without a fragment.
    ///   - faults: One for each PUT or POST that comes, in order; after them all is well.
    public func acceptUploads(_ url: URL, faults: [Fault] = []) {
        var resource = Resource(
            content: [], entityTag: nil, modified: clock.now.wall, faults: faults)
        resource.takesUploads = true
        state.withLock { $0.resources[url.absoluteString] = resource }
    }

    /// Serves nothing at the address any more.
    public func remove(_ url: URL) {
        state.withLock { $0.resources[url.absoluteString] = nil }
    }

    /// All requests that went out, oldest first.
    public var requests: [Request] { state.withLock { $0.requests } }

    /// The rate of each connection; 10 MB/s at first.
    public var bytesPerSecond: Double {
        get { state.withLock { $0.bytesPerSecond } }
        set { state.withLock { $0.bytesPerSecond = max(1, newValue) } }
    }

    /// Seconds from a request to the head of its answer; 0.05 at first.
    public var latency: Double {
        get { state.withLock { $0.latency } }
        set { state.withLock { $0.latency = max(0, newValue) } }
    }

    // MARK: - For the wire

    /// Records a request, and takes the fault that it meets.
    func record(
        _ request: Request, _ address: String
    ) -> (resource: Resource?, fault: Fault?) {
        state.withLock { state in
            state.requests.append(request)
            guard let resource = state.resources[address] else { return (nil, nil) }
            let isForThis = resource.takesUploads == ["PUT", "POST"].contains(request.method)
            if !isForThis || resource.faults.isEmpty { return (resource, nil) }
            return (resource, state.resources[address]?.faults.removeFirst())
        }
    }
}
