internal import CLibcrypto

/// The content of every file that the test server serves. Each byte is a pure function of the seed
/// and of its offset, so a test knows the bytes at any offset of a file of any size without keeping
/// the file. No two offsets have the same neighbourhood, so misplaced bytes, and bytes of another
/// version, are always detected.
package struct ByteOracle: Sendable, Hashable {
    package let seed: UInt64
    private let base: UInt64

    package init(seed: UInt64) {
        self.seed = seed
        // Seeds 1, 2, 3 … must not be shifted copies of one another.
        self.base = Self.mix(seed &+ 0x9E37_79B9_7F4A_7C15)
    }

    /// Fills the whole buffer with the file's content from `offset` on.
    package func fill(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) {
        precondition(offset >= 0)
        guard var target = buffer.baseAddress, !buffer.isEmpty else { return }
        var left = buffer.count
        var position = offset
        let aligned = Int(bitPattern: target) & 7 == 0 && offset & 7 == 0
        if aligned {
            let words = left >> 3
            fillWords(target.assumingMemoryBound(to: UInt64.self), words, from: position >> 3)
            target += words << 3
            position += words << 3
            left -= words << 3
        }
        guard left > 0 else { return }
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: Self.scratchWords) { scratch in
            let source = scratch.baseAddress!
            while left > 0 {
                let skip = position & 7
                let count = min(left, Self.scratchWords << 3 - skip)
                fillWords(source, (skip + count + 7) >> 3, from: position >> 3)
                target.copyMemory(from: UnsafeRawPointer(source) + skip, byteCount: count)
                target += count
                position += count
                left -= count
            }
        }
    }

    package func byte(at offset: Int) -> UInt8 {
        let word = Self.mix(base &+ UInt64(offset >> 3) &* Self.step)
        return UInt8(truncatingIfNeeded: word >> UInt64((offset & 7) << 3))
    }

    package func bytes(_ range: Range<Int>) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        bytes.withUnsafeMutableBytes { fill($0, at: range.lowerBound) }
        return bytes
    }

    /// Calls `body` with the content of the range, piece by piece, in order.
    package func forEachPiece(
        of range: Range<Int>, _ body: (UnsafeRawBufferPointer, Int) throws -> Void
    ) rethrows {
        let piece = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Self.pieceBytes, alignment: 8)
        defer { piece.deallocate() }
        var position = range.lowerBound
        while position < range.upperBound {
            let count = min(Self.pieceBytes, range.upperBound - position)
            let part = UnsafeMutableRawBufferPointer(rebasing: piece[0..<count])
            fill(part, at: position)
            try body(UnsafeRawBufferPointer(part), position)
            position += count
        }
    }

    /// The SHA-256 of the range's content.
    package func sha256(_ range: Range<Int>) -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var works = EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1
        forEachPiece(of: range) { part, _ in
            works = works && EVP_DigestUpdate(context, part.baseAddress, part.count) == 1
        }
        var digest = [UInt8](repeating: 0, count: 32)
        works = works && EVP_DigestFinal_ex(context, &digest, nil) == 1
        precondition(works, "libcrypto computes SHA-256")
        return digest
    }

    /// The SHA-256 of a file of this length, in lower-case hexadecimal as `sha256sum` prints it.
    package func sha256(length: Int) -> String {
        sha256(0..<length).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }

    // MARK: -

    private static let step: UInt64 = 0x9E37_79B9_7F4A_7C15
    private static let scratchWords = 512
    private static let pieceBytes = 1 << 20

    /// The finisher of SplitMix64. `fillWords` contains it a second time: an unoptimised build does
    /// not inline it, and that loop decides the speed of the server.
    private static func mix(_ value: UInt64) -> UInt64 {
        var z = value
        z = (z ^ (z &>> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z &>> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z &>> 31)
    }

    private func fillWords(_ words: UnsafeMutablePointer<UInt64>, _ count: Int, from first: Int) {
        var state = base &+ UInt64(first) &* Self.step
        let step = Self.step
        var index = 0
        while index < count {
            var z = state
            z = (z ^ (z &>> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z &>> 27)) &* 0x94D0_49BB_1331_11EB
            words[index] = (z ^ (z &>> 31)).littleEndian
            state = state &+ step
            index = index &+ 1
        }
    }
}
