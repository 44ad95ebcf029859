import Glibc
import LonghaulCore
import Testing

@testable import LonghaulPlatform

@Suite struct DigestTests {
    private let scratch: Scratch
    private let part: PartFile

    init() throws {
        scratch = try Scratch()
        part = try PartFile.create(".p", in: scratch.directory())
    }

    /// The digests of "abc" from FIPS 180-4 and RFC 1321.
    @Test(arguments: [
        (
            Checksum.Algorithm.sha256,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        ),
        (.sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (.md5, "900150983cd24fb0d6963f7d28e17f72"),
        (
            .sha512,
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
        ),
    ])
    func hashes(algorithm: Checksum.Algorithm, hex: String) throws {
        try put("abc", part.descriptor)
        let digest = FileDigest(algorithm)
        try digest.update(from: part.descriptor, upTo: 3)
        #expect(digest.hex() == hex)
        #expect(digest.position == 3)
    }

    @Test func goesOnWhereItWas() throws {
        let size = 5 << 20
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 11) }
        try #require(pwrite(part.descriptor, bytes, size, 0) == size)
        let whole = FileDigest(.sha256)
        try whole.update(from: part.descriptor, upTo: Int64(size))
        let pieces = FileDigest(.sha256)
        for end in [1, 1, 0, 63, 64, 65, 1 << 20, (1 << 20) + 1, 4 << 20, size] {
            try pieces.update(from: part.descriptor, upTo: Int64(end))
            _ = pieces.hex()
        }
        #expect(pieces.position == Int64(size))
        #expect(pieces.hex() == whole.hex())
        #expect(whole.hex() != FileDigest(.sha256).hex())
    }

    /// `printf abc | git hash-object --stdin`.
    @Test func aDigestOfGitsNeedsTheLength() throws {
        try put("abc", part.descriptor)
        let digest = FileDigest(.gitSHA1)
        try digest.update(from: part.descriptor, upTo: 2)
        #expect(digest.position == 0)
        try digest.update(from: part.descriptor, upTo: 3, isWhole: true)
        #expect(digest.hex() == "f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f")
    }

    @Test func reportsAFileThatIsTooShort() throws {
        try put("abc", part.descriptor)
        let digest = FileDigest(.md5)
        let failure = #expect(throws: SystemFailure.self) {
            try digest.update(from: part.descriptor, upTo: 10)
        }
        #expect(failure?.errno == ENODATA)
        #expect(digest.position == 3)
        // What was hashed counts: it goes on when the rest is there.
        try put("defghij", part.descriptor, at: 3)
        try digest.update(from: part.descriptor, upTo: 10)
        let other = FileDigest(.md5)
        try other.update(from: part.descriptor, upTo: 10)
        #expect(digest.hex() == other.hex())
    }

    @Test func stopsBetweenPieces() throws {
        try part.truncate(to: 8 << 20)
        let digest = FileDigest(.sha1)
        var asked = 0
        try digest.update(from: part.descriptor, upTo: 8 << 20) { _ in
            asked += 1
            return asked > 3
        }
        #expect(digest.position == 3 << 20)
    }

    @Test func reportsADescriptorThatCannotBeRead() {
        let failure = #expect(throws: SystemFailure.self) {
            try FileDigest(.md5).update(from: -1, upTo: 1, path: "x")
        }
        #expect(failure == SystemFailure(operation: "pread", path: "x", errno: EBADF))
    }
}
