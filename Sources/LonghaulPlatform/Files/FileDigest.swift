private import CLibcrypto
internal import Glibc
package import LonghaulModel
private import Synchronization

/// Bytes of a file that are read and hashed at once.
private let digestPieceBytes = 1 << 20

/// The digest of a file's beginning, extended as the file grows. Written bytes are hashed during
/// the transfer, from the page cache, so that little is left to read at its end.
///
/// Any thread may call; calls are serialized. Only ranges that are not written to any more may be
/// hashed.
package final class FileDigest: Sendable {
    private struct State: ~Copyable {
        let hasher: Hasher
        var position: Int64 = 0
        /// The hasher waits for git's header, which has the file's length.
        var needsHeader: Bool
    }

    package let algorithm: Checksum.Algorithm
    private let state: Mutex<State>

    /// - Parameter start: Where the digest begins.
    package init(_ algorithm: Checksum.Algorithm, from start: Int64 = 0) {
        self.algorithm = algorithm
        state = Mutex(
            State(
                hasher: Hasher(algorithm), position: start, needsHeader: algorithm == .gitSHA1))
    }

    /// Bytes hashed, from the start of the file.
    package var position: Int64 { state.withLock { $0.position } }

    /// Hashes from ``position`` up to `offset`; bytes before it are hashed already.
    ///
    /// - Parameters:
    ///   - isWhole: `offset` is the end of the file. A digest of git's hashes nothing before that
    ///     is known.
    ///   - shouldStop: asked before every piece of 1 MiB, with the position; `true` ends the call
    ///     early, in a consistent state. It must not use the digest, which is locked.
    /// - Throws: when the file cannot be read; ENODATA when it ends before `offset`. Bytes hashed
    ///   until then count.
    package func update(
        from descriptor: Int32, upTo offset: Int64, path: String = "", isWhole: Bool = false,
        unless shouldStop: (Int64) -> Bool = { _ in false }
    ) throws(SystemFailure) {
        let result = state.withLock { state in
            Result { () throws(SystemFailure) in
                if state.needsHeader {
                    guard isWhole else { return }
                    // git-hash-object(1): of a blob.
                    var header = "blob \(offset)\0"
                    header.withUTF8 { state.hasher.update(UnsafeRawBufferPointer($0)) }
                    state.needsHeader = false
                }
                try Self.extend(&state, descriptor, offset, path, shouldStop)
            }
        }
        try result.get()
    }

    /// The SHA-256 of a text, in lower-case hexadecimal.
    package static func sha256(of text: String) -> String {
        let hasher = Hasher(.sha256)
        Array(text.utf8).withUnsafeBytes { hasher.update($0) }
        return Hex.text(hasher.digest())
    }

    /// Lower-case hexadecimal, of the bytes up to ``position``. Hashing may continue afterwards.
    package func hex() -> String {
        Hex.text(state.withLock { $0.hasher.digest() })
    }

    // MARK: -

    private static func extend(
        _ state: inout State, _ descriptor: Int32, _ offset: Int64, _ path: String,
        _ shouldStop: (Int64) -> Bool
    ) throws(SystemFailure) {
        guard state.position < offset else { return }
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: digestPieceBytes, alignment: 4_096)
        defer { buffer.deallocate() }
        while state.position < offset, !shouldStop(state.position) {
            let requested = Int(min(Int64(digestPieceBytes), offset - state.position))
            let got = uninterrupted {
                pread(descriptor, buffer.baseAddress, requested, off_t(state.position))
            }
            if got < 0 { throw .last("pread", path) }
            if got == 0 { throw SystemFailure(operation: "pread", path: path, errno: ENODATA) }
            state.hasher.update(UnsafeRawBufferPointer(rebasing: buffer[..<got]))
            state.position += Int64(got)
        }
    }
}

/// A digest of libcrypto's (EVP_DigestInit(3)). Its calls fail only for want of memory, or where an
/// administrator has switched the algorithm off.
///
/// Any thread may use it, one at a time.
private struct Hasher: ~Copyable, @unchecked Sendable {
    private let context: OpaquePointer

    init(_ algorithm: Checksum.Algorithm) {
        let type =
            switch algorithm {
            case .sha256: EVP_sha256()
            case .sha512: EVP_sha512()
            case .sha1, .gitSHA1: EVP_sha1()
            case .md5: EVP_md5()
            }
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, type, nil) == 1 else {
            preconditionFailure("libcrypto computes \(algorithm.rawValue)")
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    func update(_ bytes: UnsafeRawBufferPointer) {
        let result = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
        precondition(result == 1, "a digest takes more bytes")
    }

    /// The digest of the bytes so far; more may come.
    func digest() -> [UInt8] {
        guard let copy = EVP_MD_CTX_new(), EVP_MD_CTX_copy_ex(copy, context) == 1 else {
            preconditionFailure("a digest can be copied")
        }
        defer { EVP_MD_CTX_free(copy) }
        return [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { bytes, count in
            var length: UInt32 = 0
            let result = EVP_DigestFinal_ex(copy, bytes.baseAddress, &length)
            precondition(result == 1, "a digest can be told")
            count = Int(length)
        }
    }
}
