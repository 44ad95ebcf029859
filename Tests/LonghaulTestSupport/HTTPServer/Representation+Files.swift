import Glibc

/// A file does not have the expected content.
package struct WrongContent: Error, CustomStringConvertible, Equatable {
    package var description: String

    package init(description: String) { self.description = description }
}

extension Representation {
    /// Checks that the file has exactly this content.
    ///
    /// - Throws: `WrongContent`, which names the first wrong byte, or the size.
    package func verify(file path: String) throws {
        var facts = stat()
        guard lstat(path, &facts) == 0 else { throw SystemFailure("look at \(path)") }
        guard Int(facts.st_size) == size else {
            throw WrongContent(
                description: "\(path) has \(facts.st_size) bytes and should have \(size)")
        }
        try verify(0..<size, of: path)
    }

    /// Checks a range of a file, which may be a part file with holes elsewhere.
    package func verify(_ range: Range<Int>, of path: String) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemFailure("open \(path)") }
        defer { close(descriptor) }
        let found = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 8)
        defer { found.deallocate() }
        try oracle.forEachPiece(of: range) { wanted, offset in
            var count = 0
            while count < wanted.count {
                let got = pread(
                    descriptor, found.baseAddress! + count, wanted.count - count,
                    off_t(offset + count))
                guard got >= 0 else { throw SystemFailure("read \(path)") }
                guard got > 0 else {
                    throw WrongContent(description: "\(path) ends at \(offset + count)")
                }
                count += got
            }
            guard memcmp(found.baseAddress!, wanted.baseAddress!, count) != 0 else { return }
            let index = (0..<count).first { found[$0] != wanted[$0] } ?? 0
            throw WrongContent(description: "\(path) is wrong at byte \(offset + index)")
        }
    }

    /// Writes the content (or its first bytes) into a new file, as fast as the disk takes it.
    package func write(to path: String, prefix: Int? = nil) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemFailure("create \(path)") }
        defer { close(descriptor) }
        try oracle.forEachPiece(of: 0..<min(size, prefix ?? size)) { piece, _ in
            var rest = piece
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                guard count > 0 else { throw SystemFailure("write \(path)") }
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
    }
}
