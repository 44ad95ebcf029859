import NIOCore

/// How much of a plan's body has been taken.
struct BodyCursor {
    /// Body bytes taken so far.
    private(set) var sent = 0
    private var piece = 0
    private var inPiece = 0

    /// The next bytes, at most `most` of them; nil at the end.
    mutating func next(
        _ pieces: [ResponsePlan.Piece], most: Int, _ allocator: ByteBufferAllocator
    ) -> ByteBuffer? {
        while piece < pieces.count {
            let count = min(most, pieces[piece].count - inPiece)
            guard count > 0 else {
                piece += 1
                inPiece = 0
                continue
            }
            defer {
                inPiece += count
                sent += count
            }
            var buffer = allocator.buffer(capacity: count)
            switch pieces[piece] {
            case .text(let text):
                buffer.writeBytes(Array(text.utf8)[inPiece..<inPiece + count])
            case .file(let oracle, let range):
                buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { target in
                    let part = UnsafeMutableRawBufferPointer(rebasing: target[0..<count])
                    oracle.fill(part, at: range.lowerBound + inPiece)
                    return count
                }
            }
            return buffer
        }
        return nil
    }
}
