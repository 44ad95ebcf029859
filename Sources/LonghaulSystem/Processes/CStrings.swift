internal import Glibc

/// A null-terminated array of C strings.
final class CStrings {
    let pointer: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    private let count: Int

    init(_ texts: [String]) {
        count = texts.count
        pointer = .allocate(capacity: texts.count + 1)
        for (index, text) in texts.enumerated() { pointer[index] = strdup(text) }
        pointer[texts.count] = nil
    }

    /// Variables, as a program is given them.
    init(environment: [String: String]) {
        count = environment.count
        pointer = .allocate(capacity: count + 1)
        for (index, entry) in environment.enumerated() {
            pointer[index] = strdup(Environment.entry(entry.key, entry.value))
        }
        pointer[count] = nil
    }

    deinit {
        for index in 0..<count { free(pointer[index]) }
        pointer.deallocate()
    }
}
