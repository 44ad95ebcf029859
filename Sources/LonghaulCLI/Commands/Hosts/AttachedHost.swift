import Longhaul
import LonghaulPlatform

/// `events --attach` in the place of a launched host: the lines of tasks and wake-ups go to
/// standard output, and the results of tasks come from standard input.
final class AttachedHost {
    private let taker: LaunchTaker
    private var news: [UInt8] = []

    init(_ queue: TransferQueue, host: String) throws(LonghaulError) {
        taker = try LaunchTaker(queue, host: host)
        // A background process that reads from the terminal gets an error and is not stopped.
        Signals.ignoreTerminalInput()
        let taker = taker
        guard DetachedThread.begin(name: "longhaul-results", { Self.readResults(for: taker) })
        else { throw LonghaulError.noThread() }
    }

    /// Tells whether there is something to print.
    func hasNews() throws(LonghaulError) -> Bool {
        while news.isEmpty, let text = try taker.next() { news = text }
        return !news.isEmpty
    }

    /// A wake-up is handled when its line has been written.
    func printNews(on console: Console) throws {
        if news.isEmpty { return }
        try console.results.write(news)
        try console.flush()
        news = []
    }

    func leave() { taker.leave() }

    private static func readResults(for taker: LaunchTaker) {
        guard let lines = try? ByteLines(path: "-", lineBytesMaximum: 1 << 16) else { return }
        while true {
            do throws(LonghaulError) {
                guard let line = try lines.next() else { return }
                try taker.report(Array(line))
            } catch {
                // A line that is too long, or a store that cannot be written: without a result the
                // time of the launch goes by.
                StandardError.write("longhaul: \(error.message)\n")
            }
        }
    }
}
