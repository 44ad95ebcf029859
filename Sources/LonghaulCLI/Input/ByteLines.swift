import Longhaul

/// The lines of a file, read in large pieces and not copied: a million of them pass in bounded
/// memory.
final class ByteLines {
    /// The number of the line that ``next()`` returned last, from 1.
    private(set) var number = 0

    private let descriptor: Int32
    private let name: String
    private let ownsDescriptor: Bool
    private var buffer: UnsafeMutableRawBufferPointer
    /// What of the buffer has been read from the file and not yet returned.
    private var pending = 0..<0
    private var isAtEnd = false

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
                descriptor = try Platform.openForReading(path)
            } catch {
                throw .usage("\(TerminalText.shown(path)) cannot be read: \(error.message)")
            }
            (ownsDescriptor, name) = (true, path)
        }
        buffer = .allocate(byteCount: 2 * lineBytesMaximum, alignment: 16)
    }

    deinit {
        buffer.deallocate()
        if ownsDescriptor { Platform.closeFile(descriptor) }
    }

    /// Without its line end; valid until the next call. `nil` at the end.
    func next() throws(LonghaulError) -> UnsafeBufferPointer<UInt8>? {
        var searched = 0
        while true {
            if let end = lineEnd(from: pending.lowerBound + searched) {
                return take(to: end, skipping: 1)
            }
            searched = pending.count
            if isAtEnd { return pending.isEmpty ? nil : take(to: pending.upperBound, skipping: 0) }
            if searched > lineBytesMaximum {
                number += 1
                throw giveUp(
                    .usage("\(shownName): a line is longer than \(lineBytesMaximum) bytes"))
            }
            try fill()
        }
    }

    /// Whether a line follows that begins with a blank. Empty lines and comments (`#`) before it
    /// are passed over, as aria2 does.
    func nextIsOption() throws(LonghaulError) -> Bool {
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

    private func take(to end: Int, skipping terminator: Int) -> UnsafeBufferPointer<UInt8> {
        number += 1
        var line = pending.lowerBound..<end
        // Editors put a byte order mark in front.
        if number == 1, buffer[line].starts(with: [0xEF, 0xBB, 0xBF]) { line = line.dropFirst(3) }
        pending = end + terminator..<pending.upperBound
        // Files from Windows.
        if let last = line.last, buffer[last] == UInt8(ascii: "\r") {
            line = line.lowerBound..<last
        }
        return UnsafeBufferPointer(rebasing: buffer.bindMemory(to: UInt8.self)[line])
    }

    private func fill() throws(LonghaulError) {
        if pending.lowerBound > 0 {
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[pending]))
            pending = 0..<pending.count
        }
        do {
            let free = UnsafeMutableRawBufferPointer(rebasing: buffer[pending.upperBound...])
            let count = try Platform.readSome(descriptor, into: free)
            if count == 0 { isAtEnd = true }
            pending = 0..<pending.upperBound + count
        } catch {
            let message = "\(shownName) cannot be read: \(error.message)"
            // A mistake, as a file that is not there.
            throw giveUp(error.isDirectory ? .usage(message) : LonghaulError(.io, message))
        }
    }

    /// What follows cannot be told apart any more: whoever goes on after the error is at the end.
    private func giveUp(_ error: LonghaulError) -> LonghaulError {
        isAtEnd = true
        pending = 0..<0
        return error
    }

    private var shownName: String { TerminalText.shown(name) }
}

extension UnsafeBufferPointer<UInt8> {
    /// A line as text. Repaired, what is not UTF-8 would say something else.
    func text() throws(LonghaulError) -> String {
        guard let text = String(validating: self, as: UTF8.self) else {
            throw .usage("it is not UTF-8; convert it first, as `iconv -f LATIN1 -t UTF-8` does")
        }
        return text
    }
}
