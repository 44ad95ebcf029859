internal import CLibcurl
internal import CLonghaul
internal import Glibc
internal import LonghaulModel

/// libcurl's process-wide state: set up once, never torn down (other code in the process may use it
/// too).
enum CurlGlobal {
    /// `curl_multi_poll` and `curl_multi_wakeup` came with 7.68, `CURLOPT_PROTOCOLS_STR` with 7.85.
    static let leastVersion: UInt32 = 0x07_55_00

    /// Before 8.0 libcurl reports an HTTP/2 stream that the server resets without an error code as
    /// complete.
    static let tellsResets = (lh_version_info()?.pointee.version_num ?? 0) >= 0x08_00_00

    private static let started: CURLcode = curl_global_init(Int(CURL_GLOBAL_ALL))

    static func start() throws(LonghaulError) {
        guard lh_curl_load() != 0 else {
            throw LonghaulError(
                .unsupported, "libcurl.so.4 cannot be loaded: install libcurl4 (7.85 or newer)")
        }
        guard started == CURLE_OK else {
            throw LonghaulError(
                .internal, "libcurl could not be set up (code \(started.rawValue))")
        }
        guard let info = lh_version_info(), info.pointee.version_num >= leastVersion else {
            throw LonghaulError(
                .unsupported, "libcurl is too old: 7.85 or newer is needed")
        }
    }

    static let proxyVariables = ProxyVariables { name in
        getenv(name).map { String(cString: $0) }
    }

    /// `~/.ssh/known_hosts`, as OpenSSH and the curl tool use it.
    static func defaultKnownHostsFile() -> String? {
        guard let home = getenv("HOME"), home.pointee != 0 else { return nil }
        return String(cString: home) + "/.ssh/known_hosts"
    }
}

/// Loads libcurl and its TLS library on a separate thread: this takes several milliseconds, and
/// meanwhile other threads can open files. A failure occurs again, and is reported, when a
/// ``Transport`` is made.
package final class CurlLoading: Sendable {
    private let thread: LoopThread?

    package init() {
        thread = try? LoopThread(name: "longhaul-load") { try? CurlGlobal.start() }
    }

    /// Returns when loading is done. The process must not exit earlier: libraries would be
    /// initialized and destroyed at the same time.
    package func wait() {
        thread?.join()
    }
}
