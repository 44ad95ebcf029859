import Longhaul
import LonghaulPlatform

/// The lines of a file, read in large pieces and not copied: a million of them pass in bounded
/// memory.
final class ByteLines {
    /// The number of the line that ``next()`` returned last, from 1.
    private(set) var number = 0

    private var descriptor: Int32
    private let name: String
    private var ownsDescriptor: Bool
    private var buffer: UnsafeMutableRawBufferPointer
    /// The bytes of the buffer that were read from the file and not yet returned.
    private var pending = 0..<0
    private var isAtEnd = false
    /// The rest of a line that is too long has not been skipped yet.
    private var isInsideTooLong = false

    private let lineBytesMaximum: Int

    /// - Parameters:
    ///   - path: `-` is the standard input.
    ///   - lineBytesMaximum: A longer line is refused. A request with all its options is far
    ///     shorter.
    init(path: String, lineBytesMaximum: Int = 1 << 20) throws(LonghaulError) {
        self.lineBytesMaximum = lineBytesMaximum
        if path == "-" {
            (descriptor, ownsDescriptor, name) = (0, false, "standard input")
        } else {
            do {
                descriptor = try CommandStream.open(path)
            } catch {
                throw .usage("\(TerminalText.shown(path)) cannot be read: \(error.reason)")
            }
            (ownsDescriptor, name) = (true, path)
        }
        buffer = .allocate(byteCount: 2 * lineBytesMaximum, alignment: 16)
    }

    deinit {
        buffer.deallocate()
        if ownsDescriptor { CommandStream.close(descriptor) }
    }

    /// The next line without its line end; valid until the next call. `nil` at the end.
    func next() throws(LonghaulError) -> UnsafeBufferPointer<UInt8>? {
        try leaveTooLong()
        var searched = 0
        while true {
            if let end = lineEnd(from: pending.lowerBound + searched) {
                return try cutLine(to: end, skipping: 1)
            }
            searched = pending.count
            if isAtEnd {
                return pending.isEmpty ? nil : try cutLine(to: pending.upperBound, skipping: 0)
            }
            if searched > lineBytesMaximum {
                if number == 0 { try refuseCompressed() }
                throw tooLong()
            }
            try fill()
        }
    }

    /// True if the next line begins with a blank. Empty lines and comments (`#`) before it are
    /// skipped, as aria2 does.
    func nextIsOption() throws(LonghaulError) -> Bool {
        try leaveTooLong()
        while true {
            while pending.count < 2 && !isAtEnd { try fill() }
            guard let first = pending.first.map({ buffer[$0] }) else { return false }
            let isEmpty =
                first == UInt8(ascii: "\n")
                || first == UInt8(ascii: "\r")
                    && (pending.count == 1
                        || buffer[pending.lowerBound + 1] == UInt8(ascii: "\n"))
            guard isEmpty || first == UInt8(ascii: "#") else { return first.isBlank }
            _ = try next()
        }
    }

    private func lineEnd(from start: Int) -> Int? {
        let rest = UnsafeRawBufferPointer(rebasing: buffer[start..<pending.upperBound])
        return rest.firstIndex(of: UInt8(ascii: "\n")).map { start + $0 }
    }

    private func cutLine(
        to end: Int, skipping terminator: Int
    ) throws(LonghaulError) -> UnsafeBufferPointer<UInt8> {
        if number == 0 { try refuseCompressed() }
        // Refused even if the buffer has the whole line.
        if end - pending.lowerBound > lineBytesMaximum { throw tooLong() }
        number += 1
        var line = pending.lowerBound..<end
        // Editors may put a byte order mark in front.
        if number == 1, buffer[line].starts(with: [0xEF, 0xBB, 0xBF]) { line = line.dropFirst(3) }
        pending = end + terminator..<pending.upperBound
        // Files from Windows end lines with CR and LF.
        if let last = line.last, buffer[last] == UInt8(ascii: "\r") {
            line = line.lowerBound..<last
        }
        return UnsafeBufferPointer(rebasing: buffer.bindMemory(to: UInt8.self)[line])
    }

    /// The first bytes of compressed files, and the program that decompresses each kind.
    private static let compressions: [(start: [UInt8], name: String, program: String)] = [
        ([0x1F, 0x8B], "gzip", "zcat"), ([0x42, 0x5A, 0x68], "bzip2", "bzcat"),
        ([0xFD, 0x37, 0x7A, 0x58, 0x5A], "xz", "xzcat"),
        ([0x28, 0xB5, 0x2F, 0xFD], "zstd", "zstdcat"),
    ]

    /// Refuses a compressed file: nothing in it is a line.
    private func refuseCompressed() throws(LonghaulError) {
        for (start, kind, program) in ByteLines.compressions
        where buffer[pending].starts(with: start) {
            isAtEnd = true
            pending = 0..<0
            let list = descriptor == 0 ? "LIST" : shownName
            throw .usage(
                "\(shownName) is compressed (\(kind)); `\(program) \(list) | longhaul enqueue -`"
                    + " reads it")
        }
    }

    private func tooLong() -> LonghaulError {
        number += 1
        isInsideTooLong = true
        return .usage("\(shownName): a line is longer than \(Units.size(Int64(lineBytesMaximum)))")
    }

    private func leaveTooLong() throws(LonghaulError) {
        while isInsideTooLong {
            let end = lineEnd(from: pending.lowerBound)
            pending = (end.map { $0 + 1 } ?? pending.upperBound)..<pending.upperBound
            isInsideTooLong = end == nil && !isAtEnd
            if isInsideTooLong { try fill() }
        }
    }

    /// Reads everything from a pipe or a terminal, so that no later read blocks. Bytes beyond the
    /// buffer go to a file without a name; of a line that is too long, only as many as show that it
    /// is.
    ///
    /// - Parameter unnamedFile: Makes a file without a name; the caller closes its descriptor.
    func gather(
        into unnamedFile: () throws(LonghaulError) -> Int32
    ) throws(LonghaulError) {
        if CommandStream.isRegularFile(descriptor) { return }
        while !isAtEnd, pending.upperBound < buffer.count { try fill() }
        if isAtEnd { return }
        let file = try unnamedFile()
        do {
            try spool(to: file)
        } catch {
            CommandStream.close(file)
            throw error
        }
        if ownsDescriptor { CommandStream.close(descriptor) }
        (descriptor, ownsDescriptor) = (file, true)
    }

    private func spool(to file: Int32) throws(LonghaulError) {
        let lastEnd = buffer[pending].lastIndex(of: UInt8(ascii: "\n"))
        var length = pending.upperBound - (lastEnd.map { $0 + 1 } ?? pending.lowerBound)
        let piece = UnsafeMutableRawBufferPointer.allocate(
            byteCount: lineBytesMaximum, alignment: 16)
        defer { piece.deallocate() }
        var count = try read(into: piece)
        while count > 0 {
            let kept = shorten(piece, count, &length)
            do {
                try CommandStream.writeAll(file, UnsafeRawBufferPointer(rebasing: piece[..<kept]))
            } catch {
                throw LonghaulError(
                    .io, "\(shownName) cannot be kept until all has come: \(error.reason)")
            }
            count = try read(into: piece)
        }
        CommandStream.rewind(file)
    }

    /// Moves the bytes of a piece that are kept together, and returns their number.
    ///
    /// - Parameter length: The length of the line so far.
    private func shorten(
        _ piece: UnsafeMutableRawBufferPointer, _ count: Int, _ length: inout Int
    ) -> Int {
        var kept = 0
        var start = 0
        while start < count {
            let rest = UnsafeRawBufferPointer(rebasing: piece[start..<count])
            let end = rest.firstIndex(of: UInt8(ascii: "\n"))
            let line = rest.prefix(min(end ?? rest.count, max(0, lineBytesMaximum + 1 - length)))
            if kept < start {
                UnsafeMutableRawBufferPointer(rebasing: piece[kept...])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: line))
            }
            kept += line.count
            length += end ?? rest.count
            if end != nil {
                piece[kept] = UInt8(ascii: "\n")
                (kept, length) = (kept + 1, 0)
            }
            start += end.map { $0 + 1 } ?? rest.count
        }
        return kept
    }

    private func fill() throws(LonghaulError) {
        if pending.lowerBound > 0 {
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[pending]))
            pending = 0..<pending.count
        }
        let free = UnsafeMutableRawBufferPointer(rebasing: buffer[pending.upperBound...])
        let count = try read(into: free)
        if count == 0 { isAtEnd = true }
        pending = 0..<pending.upperBound + count
    }

    /// After a failure further calls see the end of the input.
    private func read(
        into free: UnsafeMutableRawBufferPointer
    ) throws(LonghaulError) -> Int {
        do {
            return try CommandStream.read(descriptor, into: free)
        } catch {
            isAtEnd = true
            pending = 0..<0
            let message = "\(shownName) cannot be read: \(error.reason)"
            // A usage error, like a missing file.
            throw error.isDirectory ? .usage(message) : LonghaulError(.io, message)
        }
    }

    private var shownName: String { TerminalText.shown(name) }
}
