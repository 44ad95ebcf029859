internal import CLonghaul
internal import LonghaulModel

/// libcurl's easy handle: options go in, information about the transfer comes out.
struct CurlEasy {
    let pointer: UnsafeMutableRawPointer

    init?() {
        guard let pointer = curl_easy_init() else { return nil }
        self.pointer = pointer
        // Any cookie enables the cookie engine for good; CURLOPT_COOKIEFILE would leak at a reset.
        set(CURLOPT_COOKIELIST, "Set-Cookie: a=b")
        forgetCookies()
    }

    /// curl_easy_reset keeps the cookies: they serve the hops of one request.
    func forgetCookies() {
        set(CURLOPT_COOKIELIST, "ALL")
    }

    /// Makes libcurl close the connection when the last request leaves it.
    func closesConnection() {
        set(CURLOPT_FORBID_REUSE, 1)
    }

    // MARK: - Options

    func set(_ option: CURLoption, _ value: Int) {
        lh_easy_setopt_long(pointer, option, value)
    }

    func set(_ option: CURLoption, _ value: String) {
        lh_easy_setopt_string(pointer, option, value)
    }

    func set(_ option: CURLoption, offset: Int64) {
        lh_easy_setopt_off_t(pointer, option, offset)
    }

    func set(_ option: CURLoption, pointer value: UnsafeMutableRawPointer) {
        lh_easy_setopt_ptr(pointer, option, value)
    }

    // MARK: - Information

    /// 0 = unknown.
    func number(_ info: CURLINFO) -> Int { lh_easy_getinfo_long(pointer, info) }

    /// -1 = unknown.
    func offset(_ info: CURLINFO) -> Int64 { lh_easy_getinfo_off_t(pointer, info) }

    /// Text of libcurl's; `nil` = unknown.
    func text(_ info: CURLINFO) -> String? {
        lh_easy_getinfo_string(pointer, info).map { String(cString: $0) }
    }

    /// -1 = none.
    var socket: Int32 { lh_easy_getinfo_socket(pointer) }

    /// libcurl's times count from the start of the request; a phase that did not take place has
    /// time 0, or that of the phase before.
    var phases: RequestPhases {
        var phases = RequestPhases()
        let port = number(CURLINFO_PRIMARY_PORT)
        if let address = text(CURLINFO_PRIMARY_IP), !address.isEmpty, port != 0 {
            phases.peer = address.contains(":") ? "[\(address)]:\(port)" : "\(address):\(port)"
        }
        let answer = offset(CURLINFO_STARTTRANSFER_TIME_T)
        if answer > 0 {
            phases.firstByte = seconds(answer - offset(CURLINFO_PRETRANSFER_TIME_T))
        }
        guard number(CURLINFO_NUM_CONNECTS) > 0 else { return phases }
        let lookup = offset(CURLINFO_NAMELOOKUP_TIME_T)
        let connected = offset(CURLINFO_CONNECT_TIME_T)
        let secured = offset(CURLINFO_APPCONNECT_TIME_T)
        if lookup > 0 { phases.nameLookup = seconds(lookup) }
        if connected > 0 { phases.connect = seconds(connected - lookup) }
        if secured > 0 { phases.tlsHandshake = seconds(secured - connected) }
        return phases
    }

    private func seconds(_ microseconds: Int64) -> Double {
        Double(max(0, microseconds)) / 1e6
    }

    /// 10, 11, 20, 30, or 0 before an answer.
    var httpVersion: Int {
        switch number(CURLINFO_HTTP_VERSION) {
        case Int(CURL_HTTP_VERSION_1_0): 10
        case Int(CURL_HTTP_VERSION_1_1): 11
        case Int(CURL_HTTP_VERSION_2_0): 20
        case Int(CURL_HTTP_VERSION_3): 30
        default: 0
        }
    }

    /// The connection in use, by its local and remote port; `nil` = none yet.
    var connection: [Int]? {
        let ports = [CURLINFO_LOCAL_PORT, CURLINFO_PRIMARY_PORT].map(number)
        return ports.contains(0) ? nil : ports
    }
}

/// The lists of a request.
struct RequestLists: ~Copyable {
    var fields = FieldList()
    /// Commands of FTP and SFTP, see ``UploadBody/Commands``.
    var before = FieldList()
    var after = FieldList()
}

/// Header fields or commands in libcurl's form. They must live for as long as a handle uses them.
struct FieldList: ~Copyable {
    private(set) var first: UnsafeMutablePointer<curl_slist>?

    mutating func append(_ line: String) {
        if let longer = curl_slist_append(first, line) { first = longer }
    }

    deinit {
        curl_slist_free_all(first)
    }
}
