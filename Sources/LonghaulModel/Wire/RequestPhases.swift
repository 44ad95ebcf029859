/// The phases of a request and the address that it went to, as libcurl measured them
/// (`curl_easy_getinfo`; the counterpart of `URLSessionTaskTransactionMetrics`).
///
/// A request over a connection that was open already has neither ``nameLookup`` nor ``connect`` nor
/// ``tlsHandshake``. After a redirect the phases are those of the last request.
public struct RequestPhases: Hashable, Codable, Sendable {
    /// Address and port of the server, or of the proxy: `192.0.2.1:443`, `[2001:db8::1]:443`;
    /// `nil` = there was no connection.
    public var peer: String?
    /// Seconds until the name was resolved (`CURLINFO_NAMELOOKUP_TIME_T`).
    public var nameLookup: Double? {
        get { seconds(lookup) }
        set { lookup = microseconds(newValue) }
    }
    /// Seconds from there until the connection was there (`CURLINFO_CONNECT_TIME_T`).
    public var connect: Double? {
        get { seconds(connection) }
        set { connection = microseconds(newValue) }
    }
    /// Seconds from there until TLS was there (`CURLINFO_APPCONNECT_TIME_T`); `nil` = without TLS.
    public var tlsHandshake: Double? {
        get { seconds(handshake) }
        set { handshake = microseconds(newValue) }
    }
    /// Seconds from the request to the first byte of the answer
    /// (`CURLINFO_STARTTRANSFER_TIME_T`); of an upload, its body included.
    public var firstByte: Double? {
        get { seconds(answer) }
        set { answer = microseconds(newValue) }
    }

    /// Microseconds; -1 = there was no such phase. Small, as each request has them.
    private var lookup: Int32 = -1
    private var connection: Int32 = -1
    private var handshake: Int32 = -1
    private var answer: Int32 = -1

    private enum CodingKeys: String, CodingKey {
        case peer
        case lookup = "nameLookupMicroseconds"
        case connection = "connectMicroseconds"
        case handshake = "tlsHandshakeMicroseconds"
        case answer = "firstByteMicroseconds"
    }

    package init(
        peer: String? = nil, nameLookup: Double? = nil, connect: Double? = nil,
        tlsHandshake: Double? = nil, firstByte: Double? = nil
    ) {
        self.peer = peer
        self.nameLookup = nameLookup
        self.connect = connect
        self.tlsHandshake = tlsHandshake
        self.firstByte = firstByte
    }

    private func seconds(_ microseconds: Int32) -> Double? {
        microseconds < 0 ? nil : Double(microseconds) / 1e6
    }

    private func microseconds(_ seconds: Double?) -> Int32 {
        seconds.map { Int32(clamping: Int64(bounding: (max(0, $0) * 1e6).rounded())) } ?? -1
    }
}
