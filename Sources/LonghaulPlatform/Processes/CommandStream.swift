internal import Glibc
internal import Synchronization

/// Blocking reads and writes of a command on descriptors that it was given or has opened itself. A
/// caught signal that asks the command to stop (``Signals``) ends them with EINTR.
package enum CommandStream {
    /// The descriptor is the caller's to close.
    package static func open(_ path: String) throws(SystemFailure) -> Int32 {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0 { throw .last("open", path) }
        return descriptor
    }

    /// Opens a file for writing and empties it. The descriptor is the caller's to close.
    package static func create(_ path: String) throws(SystemFailure) -> Int32 {
        let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        if descriptor < 0 { throw .last("open", path) }
        return descriptor
    }

    package static func close(_ descriptor: Int32) {
        _ = Glibc.close(descriptor)
    }

    /// If a standard stream is closed, the next opened file would get its number, and the output
    /// meant for the stream. In place of standard input there is nothing to read, as before.
    package static func fillStandardStreams() {
        for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) < 0 {
            // open(2) takes the lowest free number.
            _ = Glibc.open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDWR)
            filled.add(1 << Int(descriptor), ordering: .relaxed)
        }
    }

    /// Bit by bit, the standard streams that were closed.
    private static let filled = Atomic(0)

    /// The command was started without this standard stream.
    package static func wasClosed(_ descriptor: Int32) -> Bool {
        filled.load(ordering: .relaxed) & 1 << Int(descriptor) != 0
    }

    /// Why nothing can be read from standard input; `nil` = it can be read.
    package static var standardInputDefect: String? {
        let flags = fcntl(STDIN_FILENO, F_GETFL)
        if flags < 0 || flags & O_ACCMODE == O_WRONLY { return "it is closed" }
        let facts = try? stat.of(descriptor: STDIN_FILENO, path: "")
        return facts.map { $0.st_mode & S_IFMT == S_IFDIR } == true ? "it is a directory" : nil
    }

    /// A regular file can be read without waiting.
    package static func isRegularFile(_ descriptor: Int32) -> Bool {
        (try? stat.of(descriptor: descriptor, path: ""))?.isRegular ?? false
    }

    package static func rewind(_ descriptor: Int32) {
        lseek(descriptor, 0, SEEK_SET)
    }

    /// Returns the number of bytes read; 0 at the end.
    package static func read(
        _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer
    ) throws(SystemFailure) -> Int {
        while true {
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            if errno == EAGAIN {
                try wait(for: POLLIN, descriptor)
                continue
            }
            // A caught signal does not end the input, unless it asks the command to stop.
            if errno != EINTR || Signals.received != nil { throw .last("read", "") }
        }
    }

    package static func writeAll(
        _ descriptor: Int32, _ bytes: UnsafeRawBufferPointer
    ) throws(SystemFailure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Glibc.write(
                descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count > 0 { rest = rest.dropFirst(count) }
            if count < 0, errno == EAGAIN {
                try wait(for: POLLOUT, descriptor)
                continue
            }
            // A signal to stop ends the wait for a reader, too.
            if count < 0, errno != EINTR || Signals.received != nil { throw .last("write", "") }
        }
    }

    /// Another program that has the same pipe may have made it non-blocking for all.
    private static func wait(
        for event: Int32, _ descriptor: Int32
    ) throws(SystemFailure) {
        var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        if poll(&entry, 1, -1) < 0, errno != EINTR || Signals.received != nil {
            throw .last("poll", "")
        }
    }

    /// True if a few bytes can be written without waiting for a reader: pipe(7) guarantees that for
    /// PIPE_BUF bytes if poll(2) reports that the pipe is writable.
    package static func isWritable(_ descriptor: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return uninterrupted { Int(poll(&entry, 1, 0)) } != 0
    }

    /// True if the other end of the pipe is closed.
    package static func hasNoReader(_ descriptor: Int32) -> Bool {
        waitForReaderToGo(descriptor, atMost: 0)
    }

    /// - Parameter milliseconds: -1 = without a limit.
    @discardableResult
    package static func waitForReaderToGo(
        _ descriptor: Int32, atMost milliseconds: Int32 = -1
    ) -> Bool {
        var entry = pollfd(fd: descriptor, events: 0, revents: 0)
        let answer = uninterrupted { Int(poll(&entry, 1, milliseconds)) }
        return answer > 0 && Int32(entry.revents) & (POLLERR | POLLHUP) != 0
    }

    // MARK: - Terminals

    package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Columns and rows; `nil` when the descriptor is no terminal or does not say.
    package static func windowSize(_ descriptor: Int32) -> (columns: Int, rows: Int)? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}
