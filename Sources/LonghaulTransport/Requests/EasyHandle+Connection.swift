internal import CLonghaul
internal import LonghaulModel

/// A server sends fewer bytes merely to keep its connection alive.
private let keepAliveBytes: UInt64 = 512

/// Selects the connection for a hop, and checks that it is still alive.
extension EasyHandle {
    /// Selects the connections that the request may use. Sets every option again, because a parked
    /// handle keeps its earlier options.
    ///
    /// - Parameter isPatient: Whether it may wait for a connection that is being made and may turn
    ///   out to be shareable.
    func setConnection(_ scheme: String, isPatient: Bool = true) {
        guard let running else { preconditionFailure("a connection without a request") }
        let request = running.request
        let framing = running.hop.framing
        // Over plain TCP nothing but HTTP/1.1 is negotiated, so there is nothing to wait for.
        let mayBeHTTP2 = scheme == "https" && framing != .http1
        let isAlone = request.connection.ownConnection || framing == .unproven
        let mayShare = mayBeHTTP2 && !isAlone
        self.running?.hop.mayShare = mayShare
        flow.pointer.pointee.has_data_sockets = scheme.hasPrefix("ftp") ? 1 : 0
        if let pool = pools.pool(for: request, isApart: scheme == "https" && !mayShare) {
            lh_pool_use(pool, flow.pointer, running.site)
        }
        curl.set(
            CURLOPT_HTTP_VERSION, Int(mayBeHTTP2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1))
        curl.set(CURLOPT_PIPEWAIT, mayShare && isPatient ? 1 : 0)
        // libcurl takes the age of a connection in whole seconds.
        let seconds = running.connectionsTrustedFor.map { Int($0 / 1_000_000_000) - 1 }
        var isFresh = isAlone
        let now = turn.pointee.now
        if let seconds, seconds < 1, !isFresh, !mayShare || !running.isRenewed(now: now) {
            isFresh = true
            if mayShare { running.host.renewedAt = now }
        }
        curl.set(CURLOPT_FRESH_CONNECT, isFresh ? 1 : 0)
        curl.set(CURLOPT_MAXLIFETIME_CONN, isFresh ? 0 : seconds.map { max(1, $0) } ?? 0)
        // A server whose connections are not trusted may have moved to another address.
        if running.connectionsTrustedFor != nil { curl.set(CURLOPT_DNS_CACHE_TIMEOUT, 0) }
    }

    /// Called when libcurl has found a connection, before it sends the request; `true` = continue.
    /// libcurl 7.88 knows only for each authority and pool whether requests may share a connection.
    /// If only some servers behind a name speak HTTP/2, it puts a request onto a busy HTTP/1.1
    /// connection, and each request reads the other's answer. So only one request stays on such a
    /// connection of a pool for sharing.
    func admits() -> Bool {
        guard running?.hop.mayShare == true, lh_easy_has_agreed_on_http2(curl.pointer) == 0 else {
            return true
        }
        guard let origin = RequestURL(url)?.origin, pools.unshared.insert(origin).inserted else {
            running?.hop.answer = .dropped(.http1)
            return false
        }
        running?.hop.unsharedAt = origin
        return true
    }

    /// The request has ended, or will look for another connection.
    func leaveConnection() {
        lh_flow_leave(flow.pointer)
        if let origin = running?.hop.unsharedAt { pools.unshared.remove(origin) }
        running?.hop.unsharedAt = nil
    }

    /// True if the connection's local address is gone: packets are lost without an error.
    var hasLostAddress: Bool {
        flow.pointer.pointee.connected != 0 && lh_easy_has_lost_address(curl.pointer) != 0
    }

    /// libcurl hands over a TLS record when it is complete: at 16 KiB that may take longer on a
    /// slow link than the stall timeout. So bytes on the socket count as well, if they are more
    /// than a server's keep-alive messages.
    func countBytesBelow(now: Int64) {
        guard url.beginsIgnoringCase(with: "https:"), let port = curl.connection?.first else {
            return
        }
        var received: UInt64 = 0
        var silent: UInt32 = 0
        // The socket is only known for a connection that this request has made.
        guard lh_tcp_heard(flow.pointer.pointee.socket, UInt16(port), &received, &silent) == 0,
            running?.hop.receivedBelow.map({ received > $0 + keepAliveBytes }) ?? true
        else { return }
        running?.hop.receivedBelow = received
        flow.touched = max(flow.touched, now - Int64(silent) * 1_000_000)
    }

}
