internal import CLonghaul
internal import Glibc

/// The file mode that programs give to what they create for their user: 0666 less the umask that
/// this process was started with.
enum Umask {
    static let fileMode: mode_t = 0o666 & ~current()

    static let takesFromOwner = fileMode & 0o600 != 0o600

    /// Read from /proc, because umask(2) can only be read by setting it, which another thread's
    /// files would feel.
    private static func current() -> mode_t {
        if let text = try? smallFile("/proc/self/status") {
            for line in text.split(separator: "\n") where line.hasPrefix("Umask:") {
                let digits = line.dropFirst("Umask:".count).drop { $0 == "\t" || $0 == " " }
                if let mask = mode_t(digits, radix: 8) { return mask }
            }
        }
        let mask = umask(0o077)
        _ = umask(mask)
        return mask
    }
}
