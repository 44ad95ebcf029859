internal import Glibc

/// Where relative paths start. Read once: neither the library nor the command changes it.
package enum CurrentDirectory {
    package static let path: String = {
        guard let buffer = getcwd(nil, 0) else { return "/" }
        defer { free(buffer) }
        return String(cString: buffer)
    }()
}
