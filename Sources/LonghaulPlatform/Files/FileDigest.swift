private import Crypto
internal import Glibc
package import LonghaulCore
private import Synchronization

/// The digest of a file's beginning, extended as the file grows. Written bytes are hashed during
/// the transfer, from the page cache, so that little is left to read at its end.
///
/// Any thread may call; calls are serialized. Only ranges that are not written to any more may be
/// hashed.
package final class FileDigest: Sendable {
    /// Bytes read at once.
    private static let pieceBytes = 1 << 20

    fileprivate enum Hasher {
        case sha256(SHA256)
        case sha512(SHA512)
        case sha1(Insecure.SHA1)
        case md5(Insecure.MD5)
    }

    private struct State {
        var hasher: Hasher
        var position: Int64 = 0
    }

    package let algorithm: Checksum.Algorithm
    private let state: Mutex<State>

    package init(_ algorithm: Checksum.Algorithm) {
        self.algorithm = algorithm
        let hasher: Hasher
        switch algorithm {
        case .sha256: hasher = .sha256(SHA256())
        case .sha512: hasher = .sha512(SHA512())
        case .sha1: hasher = .sha1(Insecure.SHA1())
        case .md5: hasher = .md5(Insecure.MD5())
        }
        state = Mutex(State(hasher: hasher))
    }

    /// Bytes hashed, from the start of the file.
    package var position: Int64 { state.withLock { $0.position } }

    /// Hashes from ``position`` up to `offset`; bytes before it are hashed already.
    ///
    /// - Parameter shouldStop: asked before every piece of 1 MiB; `true` ends the call early, in a
    ///   consistent state.
    /// - Throws: when the file cannot be read; ENODATA when it ends before `offset`. Bytes hashed
    ///   until then count.
    package func update(
        from descriptor: Int32, upTo offset: Int64, path: String = "",
        unless shouldStop: () -> Bool = { false }
    ) throws(SystemFailure) {
        let result = state.withLock { state in
            Result { () throws(SystemFailure) in
                try Self.extend(&state, descriptor, offset, path, shouldStop)
            }
        }
        try result.get()
    }

    /// Lower-case hexadecimal, of the bytes up to ``position``. Hashing may go on afterwards.
    package func hex() -> String {
        state.withLock { state in
            switch state.hasher {
            case .sha256(let hasher): Hex.text(hasher.finalize())
            case .sha512(let hasher): Hex.text(hasher.finalize())
            case .sha1(let hasher): Hex.text(hasher.finalize())
            case .md5(let hasher): Hex.text(hasher.finalize())
            }
        }
    }

    // MARK: -

    private static func extend(
        _ state: inout State, _ descriptor: Int32, _ offset: Int64, _ path: String,
        _ shouldStop: () -> Bool
    ) throws(SystemFailure) {
        guard state.position < offset else { return }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceBytes, alignment: 4_096)
        defer { buffer.deallocate() }
        while state.position < offset, !shouldStop() {
            let asked = Int(min(Int64(pieceBytes), offset - state.position))
            let got = uninterrupted {
                pread(descriptor, buffer.baseAddress, asked, off_t(state.position))
            }
            if got < 0 { throw .last("pread", path) }
            if got == 0 { throw SystemFailure(operation: "pread", path: path, errno: ENODATA) }
            state.hasher.update(UnsafeRawBufferPointer(rebasing: buffer[..<got]))
            state.position += Int64(got)
        }
    }
}

extension FileDigest.Hasher {
    fileprivate mutating func update(_ bytes: UnsafeRawBufferPointer) {
        switch self {
        case .sha256(var hasher):
            hasher.update(bufferPointer: bytes)
            self = .sha256(hasher)
        case .sha512(var hasher):
            hasher.update(bufferPointer: bytes)
            self = .sha512(hasher)
        case .sha1(var hasher):
            hasher.update(bufferPointer: bytes)
            self = .sha1(hasher)
        case .md5(var hasher):
            hasher.update(bufferPointer: bytes)
            self = .md5(hasher)
        }
    }
}
