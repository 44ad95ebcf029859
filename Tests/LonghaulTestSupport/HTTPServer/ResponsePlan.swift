/// The whole answer of the server to one request, decided before the first byte is sent.
struct ResponsePlan: Sendable {
    enum Piece: Sendable {
        case text(String)
        case file(ByteOracle, Range<Int>)

        var count: Int {
            switch self {
            case .text(let text): text.utf8.count
            case .file(_, let range): range.count
            }
        }
    }

    enum Framing: Sendable, Equatable {
        /// The declared length, which need not be the number of bytes in the pieces.
        case length(Int)
        case chunked(terminated: Bool)
        case untilClose
        /// HEAD, 204, 304: nothing follows the head, whatever it says.
        case bodiless
    }

    enum Ending: Sendable, Equatable {
        case keepAlive
        case close
        /// Close with RST after this many body bytes.
        case reset(Int)
        /// Close after this many body bytes.
        case cut(Int)
        /// Send nothing more after this many body bytes, and hold the connection.
        case stall(Int)
        /// Close at once, without an answer.
        case drop

        /// The offset in the body at which the accident happens.
        var bodyLimit: Int {
            switch self {
            case .keepAlive, .close: .max
            case .reset(let count), .cut(let count), .stall(let count): count
            case .drop: 0
            }
        }
    }

    var status = 200
    var headers: [HeaderField] = []
    var pieces: [Piece] = []
    var framing = Framing.length(0)
    var ending = Ending.keepAlive
    var interimHeads = 0
    var delayMilliseconds = 0
    /// At most this many bytes, then a pause.
    var burst: (bytes: Int, milliseconds: Int)?
    var garbageAfter = ""
    var badKnob: BadKnob?

    /// Removes the stall and the delays.
    mutating func goOn() {
        burst = nil
        if case .stall = ending { ending = .keepAlive }
    }

    var bodyCount: Int { pieces.reduce(0) { $0 + $1.count } }

    var head: String {
        let lines = headers.map { "\($0.name): \($0.value)\r\n" }.joined()
        return "HTTP/1.1 \(status) \(Self.reason(status))\r\n\(lines)\r\n"
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 206: "Partial Content"
        case 304: "Not Modified"
        case 404: "Not Found"
        case 416: "Range Not Satisfiable"
        case 503: "Service Unavailable"
        case _: "Status \(status)"
        }
    }
}
