internal import CLonghaul
internal import Glibc
package import LonghaulModel

/// Logs of runs that are kept of each job.
private let jobLogsKept = 10
/// The bytes of a log that are read at once.
private let jobLogPieceBytes = 256 << 10
/// The line about the end of a run is within this number of last bytes of its log.
private let jobLogEndBytes = 256

/// The output of one run of a job: lines with times, written by the process between the command and
/// the file, which neither knows nor needs an engine. The last line tells how the command ended.
///
/// The beginning and the end of long output are kept; the file has a hole between them.
package struct JobLog: Sendable {
    /// A line of the log.
    package struct Line: Hashable, Sendable {
        package enum Stream: Hashable, Sendable {
            case output, errors
        }

        package var at: Timestamp
        package var stream: Stream
        package var text: String
    }

    /// The end of a run's command.
    package struct End: Hashable, Sendable {
        package var end: ProcessEnd
        package var at: Timestamp
        /// The processor time of the command and all of its children that have ended.
        package var processorSeconds: Double
    }

    /// The state directory's part for the logs of jobs.
    static let directory = "jobs"

    private let path: String

    /// - Parameters:
    ///   - home: The state directory.
    ///   - run: The number of its launch.
    package init(of job: String, run: Int64, in home: String) {
        path = Self.folder(of: job, in: home) + "/\(run).log"
    }

    private static func folder(of job: String, in home: String) -> String {
        PathParts.join(home, "\(directory)/\(job)")
    }

    /// Makes an empty log, open for appending, and removes logs of earlier runs beyond the bound.
    static func make(
        of job: String, run: Int64, in home: DirectoryHandle
    ) throws(SystemFailure) -> Descriptor {
        let folder = try DirectoryHandle.creating(
            Self.folder(of: job, in: home.path), isPrivate: true)
        let runs = runs(of: job, in: home.path).filter { $0 != run }
        for old in runs.dropLast(jobLogsKept - 1) { try? folder.remove("\(old).log") }
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW
        return Descriptor(
            owning: try check(
                lh_openat(folder.descriptor, "\(run).log", flags, 0o600), "open",
                folder.path(of: "\(run).log")))
    }

    /// The numbers of the runs with a log, in order.
    package static func runs(of job: String, in home: String) -> [Int64] {
        (directoryNames(folder(of: job, in: home)) ?? []).compactMap { name in
            name.hasSuffix(".log") ? Int64(name.dropLast(4)) : nil
        }.sorted()
    }

    /// Removes all logs of a job.
    package static func removeAll(of job: String, in home: String) {
        let folder = folder(of: job, in: home)
        for run in runs(of: job, in: home) { unlink("\(folder)/\(run).log") }
        rmdir(folder)
    }

    // MARK: - Reading

    /// The end of the run; `nil` = it is running, or its end is not known.
    package var end: End? {
        guard let reader = try? Reader(path) else { return nil }
        let tail = reader.read(
            from: max(0, reader.size - Int64(jobLogEndBytes)), atMost: jobLogEndBytes)
        guard tail.last == UInt8(ascii: "\n") else { return nil }
        let line = tail.dropLast().split(separator: UInt8(ascii: "\n")).last ?? []
        return Self.end(of: line)
    }

    /// The last part of the output, without times.
    package func tail(atMost bytes: Int) -> String {
        guard let reader = try? Reader(path) else { return "" }
        var cursor = Cursor()
        cursor.offset = max(0, reader.size - Int64(bytes))
        cursor.isCut = cursor.offset > 0
        var text = ""
        while let lines = read(&cursor), !lines.isEmpty {
            for line in lines { text += line.text + "\n" }
        }
        return text
    }

    /// A place in a log, for reading on.
    package struct Cursor: Hashable, Sendable {
        package fileprivate(set) var offset: Int64 = 0
        /// The offset is in the middle of a line, which is left out.
        fileprivate var isCut = false
        /// Bytes that were left out before the lines read last.
        package fileprivate(set) var leftOut: Int64 = 0

        package init() {}
    }

    /// The next whole lines; empty = no whole line yet, or the end. `nil` = there is no log.
    package func read(_ cursor: inout Cursor) -> [Line]? {
        cursor.leftOut = 0
        guard let reader = try? Reader(path) else { return nil }
        while true {
            var lines: [Line] = []
            guard read(&lines, reader, &cursor) else { return [] }
            // A piece with nothing to show is not the end.
            if !lines.isEmpty { return lines }
        }
    }

    /// Reads a piece. `false`: it has no end of a line.
    private func read(_ lines: inout [Line], _ reader: Reader, _ cursor: inout Cursor) -> Bool {
        let (head, tail) = (Int64(LH_JOB_LOG_HEAD), reader.size - Int64(LH_JOB_LOG_TAIL))
        var most = jobLogPieceBytes
        if cursor.offset < head, head < tail {
            // The hole begins there.
            most = min(most, Int(head - cursor.offset))
        }
        var bytes = reader.read(from: cursor.offset, atMost: most)[...]
        let last = bytes.lastIndex(of: UInt8(ascii: "\n"))
        if head < tail, cursor.offset < tail, last == nil || cursor.offset >= head {
            cursor.leftOut = tail - cursor.offset
            cursor.offset = tail
            cursor.isCut = true
            return true
        }
        guard let last else { return false }
        bytes = bytes[...last]
        cursor.offset += Int64(bytes.count)
        var parts = bytes.split(separator: UInt8(ascii: "\n"))
        if cursor.isCut, !parts.isEmpty {
            parts.removeFirst()
            cursor.isCut = false
        }
        lines = parts.compactMap { Self.line(of: $0) }
        return true
    }

    /// `TIME o TEXT`, or `e` for standard error; `nil` for anything else.
    static func line(of bytes: ArraySlice<UInt8>) -> Line? {
        let parts = bytes.split(
            separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let at = RFC3339.parse(String(decoding: parts[0], as: UTF8.self))
        else { return nil }
        let text = String(decoding: parts[2], as: UTF8.self)
        switch String(decoding: parts[1], as: UTF8.self) {
        case "o": return Line(at: at, stream: .output, text: text)
        case "e": return Line(at: at, stream: .errors, text: text)
        default: return nil
        }
    }

    /// `TIME = exited STATUS SECONDS`, or `signalled SIGNAL`; `nil` for anything else.
    static func end(of line: ArraySlice<UInt8>) -> End? {
        let parts = String(decoding: line, as: UTF8.self).split(separator: " ")
        guard parts.count == 5, parts[1] == "=", let at = RFC3339.parse(String(parts[0])),
            let number = Int32(parts[3]), let seconds = Double(parts[4])
        else { return nil }
        switch parts[2] {
        case "exited": return End(end: .exited(number), at: at, processorSeconds: seconds)
        case "signalled": return End(end: .signalled(number), at: at, processorSeconds: seconds)
        default: return nil
        }
    }

    private struct Reader {
        private let file: Descriptor
        let size: Int64

        init(_ path: String) throws(SystemFailure) {
            let answer = lh_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0)
            file = Descriptor(owning: try check(answer, "open", path))
            size = Int64(try stat.of(descriptor: file.number, path: path).st_size)
        }

        func read(from offset: Int64, atMost count: Int) -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: count)
            let got = bytes.withUnsafeMutableBytes { buffer in
                uninterrupted {
                    pread(file.number, buffer.baseAddress, buffer.count, off_t(offset))
                }
            }
            return Array(bytes.prefix(max(0, got)))
        }
    }
}
