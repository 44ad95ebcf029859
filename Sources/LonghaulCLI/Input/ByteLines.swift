import Longhaul

/// The lines of a file, read in large pieces and not copied: a million of them pass in bounded memory.
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

    /// A longer line is refused. A request with all its options is far shorter.
    static let lineBytesMaximum = 1 << 20
    private static let bufferBytes = 2 * lineBytesMaximum

    /// `-` is the standard input.
    init(path: String) throws(LonghaulError) {
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
        buffer = .allocate(byteCount: ByteLines.bufferBytes, alignment: 16)
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
            if searched > ByteLines.lineBytesMaximum {
                throw .usage("line \(number + 1) of \(TerminalText.shown(name)) is too long")
            }
            try fill()
        }
    }

    /// Whether a line follows that begins with a blank.
    func nextIsIndented() throws(LonghaulError) -> Bool {
        while pending.isEmpty && !isAtEnd { try fill() }
        return pending.first.map { buffer[$0].isBlank } ?? false
    }

    private func lineEnd(from start: Int) -> Int? {
        let rest = UnsafeRawBufferPointer(rebasing: buffer[start..<pending.upperBound])
        return rest.firstIndex(of: UInt8(ascii: "\n")).map { start + $0 }
    }

    private func take(to end: Int, skipping terminator: Int) -> UnsafeBufferPointer<UInt8> {
        number += 1
        var line = pending.lowerBound..<end
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
            throw LonghaulError(
                .io, "\(TerminalText.shown(name)) cannot be read: \(error.message)")
        }
    }
}
