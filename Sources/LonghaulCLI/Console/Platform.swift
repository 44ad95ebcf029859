import Glibc
import Longhaul
import Synchronization

/// The system calls that the command line needs.
enum Platform {
    // MARK: ConditionSnapshot

    static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// As they were at the first access.
    static let proxyVariables = ProxyVariables(environment)

    /// A transfer is recorded with the proxy variables of the command that enqueues it. An engine
    /// within a command, or started by it, serves other transfers, too, to which these do not
    /// apply.
    static func dropProxyVariables() {
        _ = proxyVariables
        for name in ProxyVariables.names { unsetenv(name) }
    }

    static func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(
            milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// Seconds on a monotonic clock.
    static func uptime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Ends early when a signal is caught.
    static func pause(_ seconds: Double) {
        usleep(UInt32(max(0, min(seconds, 0.9)) * 1e6))
    }

    // MARK: Terminal

    static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Columns and rows; `nil` when the descriptor is no terminal or does not say.
    static func windowSize(_ descriptor: Int32) -> (columns: Int, rows: Int)? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    // MARK: Files

    /// The failure of a system call.
    struct Refusal: Error, Equatable {
        var number: Int32
        var message: String { String(cString: strerror(number)) }
        /// The reader has closed its end.
        var isBrokenPipe: Bool { number == EPIPE }
        var isDirectory: Bool { number == EISDIR }
    }

    static func openForReading(_ path: String) throws(Refusal) -> Int32 {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0 { throw Refusal(number: errno) }
        return descriptor
    }

    /// If a standard stream is closed, the next opened file would get its number, and the output
    /// meant for the stream.
    static func fillStandardStreams() {
        for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) < 0 {
            // open(2) takes the lowest free number.
            _ = open("/dev/null", O_RDWR)
        }
    }

    /// A regular file can be read without waiting.
    static func isRegularFile(_ descriptor: Int32) -> Bool {
        var facts = stat()
        return fstat(descriptor, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG
    }

    static func rewind(_ descriptor: Int32) {
        lseek(descriptor, 0, SEEK_SET)
    }

    static func closeFile(_ descriptor: Int32) {
        close(descriptor)
    }

    /// Returns the number of bytes read; 0 at the end.
    static func readSome(
        _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer
    ) throws(Refusal) -> Int {
        while true {
            let count = read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            // A caught signal does not end the input, unless it asks the command to stop.
            if errno != EINTR || Signals.received != nil { throw Refusal(number: errno) }
        }
    }

    static func writeAll(
        _ descriptor: Int32, _ bytes: UnsafeRawBufferPointer
    ) throws(Refusal) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = write(
                descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count > 0 { rest = rest.dropFirst(count) }
            // A signal to stop ends the wait for a reader, too.
            if count < 0, errno != EINTR || Signals.received != nil {
                throw Refusal(number: errno)
            }
        }
    }

    /// Whether a few bytes can be written without waiting for a reader.
    static func takesSome(_ descriptor: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&entry, 1, 0) != 0
    }

    /// Whether the other end of the pipe is closed.
    static func hasNoReader(_ descriptor: Int32) -> Bool {
        waitForReaderToGo(descriptor, atMost: 0)
    }

    /// - Parameter milliseconds: -1 = without a limit.
    @discardableResult
    static func waitForReaderToGo(_ descriptor: Int32, atMost milliseconds: Int32 = -1) -> Bool {
        var entry = pollfd(fd: descriptor, events: 0, revents: 0)
        while true {
            let answer = poll(&entry, 1, milliseconds)
            if answer >= 0 || errno != EINTR {
                return answer > 0 && Int32(entry.revents) & (POLLERR | POLLHUP) != 0
            }
        }
    }

    // MARK: Threads

    /// Runs `body` on a thread of its own: an engine blocks its thread while it works, which a
    /// thread of Swift's concurrency pool must not.
    static func startThread(
        _ body: @escaping @Sendable () -> Void
    ) throws(LonghaulError) {
        let box = Unmanaged.passRetained(ThreadBody(run: body))
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, box.toOpaque())
        guard failure == 0 else {
            box.release()
            throw LonghaulError(
                .io,
                "no thread can be started: \(Refusal(number: failure).message); "
                    + "raise the limit (ulimit -u)", retryable: true)
        }
        pthread_detach(thread)
    }

    private final class ThreadBody: Sendable {
        let run: @Sendable () -> Void

        init(run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }

    /// Exits without waiting for other threads: one may hang in a call on a disk.
    static func exitNow(_ status: Int32) -> Never {
        _exit(status)
    }

    static func exit(_ status: Int32) -> Never {
        Glibc.exit(status)
    }
}

/// Wakes one thread from another. It is a pipe, because poll(2) ends when a signal is caught, and
/// its timeout does not depend on the wall clock.
final class Doorbell: Sendable {
    private let reading: Int32
    private let writing: Int32

    init() throws(LonghaulError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            let refusal = Platform.Refusal(number: errno)
            throw LonghaulError(
                .io,
                "no pipe can be made: \(refusal.message); raise the limit (ulimit -n)",
                retryable: true)
        }
        (reading, writing) = (ends[0], ends[1])
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    }

    deinit {
        close(reading)
        close(writing)
    }

    func ring() {
        var byte: UInt8 = 1
        write(writing, &byte, 1)
    }

    /// Returns when it was rung, a signal was caught, or the time is over; check again in each
    /// case.
    func wait(timeout seconds: Double) {
        var entry = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, Int32(min(seconds, 1e6) * 1000)) > 0 else { return }
        var byte: UInt8 = 0
        read(reading, &byte, 1)
    }
}

/// Signals that ask a command to stop. The handler only stores the number; commands check it
/// between two steps.
enum Signals {
    static let interrupt = SIGINT
    static let terminate = SIGTERM

    private static let number = Atomic<Int32>(0)

    /// A signal that came since ``watch()``.
    static var received: Int32? {
        let value = number.load(ordering: .relaxed)
        return value == 0 ? nil : value
    }

    /// For callers that learn of a signal in another way.
    static func note(_ kind: Int32) {
        number.store(kind, ordering: .relaxed)
    }

    /// Makes a write to a closed pipe, or beyond the limit of a file's size (`ulimit -f`), fail
    /// instead of ending the process: an engine in this process has bytes to save.
    static func ignoreFailedWrites() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
    }

    /// From now on interrupt, terminate and hang-up are recorded instead of ending the process; a
    /// second signal of a kind does end it. Signals that were ignored when the process started
    /// (nohup, `&` in a script) stay ignored.
    static func watch() {
        number.store(0, ordering: .relaxed)
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { received in
            Signals.number.store(received, ordering: .relaxed)
        }
        action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
        for kind in [SIGINT, SIGTERM, SIGHUP] where !isIgnored(kind) {
            sigaction(kind, &action, nil)
        }
    }

    // MARK: Ctrl-Z

    private static let isToSuspend = Atomic(false)

    /// From now on Ctrl-Z is recorded instead of stopping the process, which may hold locks that
    /// other processes wait for.
    static func watchSuspension() {
        if isIgnored(SIGTSTP) { return }
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in
            Signals.isToSuspend.store(true, ordering: .relaxed)
        }
        action.sa_flags = SA_RESTART
        sigaction(SIGTSTP, &action, nil)
    }

    /// Whether Ctrl-Z was recorded since the last call.
    static func takeSuspension() -> Bool {
        isToSuspend.exchange(false, ordering: .relaxed)
    }

    /// Stops the process by the default action of Ctrl-Z; returns when it is continued.
    static func suspend() {
        signal(SIGTSTP, SIG_DFL)
        raise(SIGTSTP)
        watchSuspension()
    }

    /// Delays a stop by Ctrl-Z until `body` has ended.
    static func withoutSuspension<T>(_ body: () throws -> T) rethrows -> T {
        watchSuspension()
        defer {
            signal(SIGTSTP, isIgnored(SIGTSTP) ? SIG_IGN : SIG_DFL)
            if takeSuspension() { raise(SIGTSTP) }
        }
        return try body()
    }

    private static func isIgnored(_ kind: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(kind, nil, &action) == 0 else { return false }
        // Functions cannot be compared.
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Ends this process by the signal itself, so that shells and service managers see the cause.
    static func end(by kind: Int32) -> Never {
        signal(kind, SIG_DFL)
        raise(kind)
        Platform.exit(128 + kind)
    }
}
