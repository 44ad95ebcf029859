internal import CLonghaul
internal import Glibc
package import LonghaulModel

/// Size of a read in the search for zeros.
private let zeroPage: Int64 = 4096
/// Least run of zeros that may be a hole.
private let zeroRun: Int64 = 64 << 10

/// A method of copying the bytes of one file into another.
package enum CopyMethod: Hashable, Sendable {
    /// The file system shares the blocks until one of the files is written (FICLONE).
    case reflink
    /// The kernel copied (copy_file_range).
    case kernel
    /// Through this process.
    case readAndWrite
}

extension PartFile {
    /// Creates a file with the bytes of an open file, as a separate inode: later writes to either
    /// do not affect the other. Nothing is durable yet. If this throws, no file is left behind.
    ///
    /// - Parameter methods: The methods to try, in this order.
    package static func create(
        _ names: some Collection<PartName>, in directory: DirectoryHandle, copying source: Int32,
        length: Int64,
        methods: [CopyMethod] = [.reflink, .kernel, .readAndWrite],
        sparing isInUse: (FileIdentity) -> Bool = { _ in false }
    ) throws(SystemFailure) -> (file: PartFile, method: CopyMethod) {
        let file = try create(names, in: directory, sparing: isInUse)
        do throws(SystemFailure) {
            let method = try file.fill(from: source, length, methods)
            if try file.size() != length {
                throw SystemFailure(operation: "copy", path: file.path, errno: EIO)
            }
            return (file, method)
        } catch {
            try? file.remove()
            throw error
        }
    }

    /// Fills the empty file with the bytes of another, if that is unchanged since a moment: the
    /// same inode and length, and no write, rename or other change since. Throws `ESTALE` if it is
    /// not, or if it changes during the copy; the copied bytes are then invalid.
    package func fill(
        from path: String, _ identity: FileIdentity, length: Int64, unchangedSince: Timestamp
    ) throws(SystemFailure) {
        let number = lh_openat(
            AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
        try check(number, "open", path)
        defer { close(number) }
        func lookAgain() throws(SystemFailure) {
            let look = try FileLook(at: number, path: path)
            guard look.isRegular, look.identity == identity, look.size == length,
                look.touched <= unchangedSince
            else { throw SystemFailure(operation: "reuse", path: path, errno: ESTALE) }
        }
        try lookAgain()
        _ = try fill(from: number, length, [.reflink, .kernel, .readAndWrite])
        try lookAgain()
        if try size() != length {
            throw SystemFailure(operation: "reuse", path: path, errno: ESTALE)
        }
    }

    /// Offset of the first run of at least 64 KiB of zeros; `nil` = no such run. A page of each 64
    /// KiB is read: a run shorter by a page may stay unseen.
    package func firstZeros(before length: Int64) throws(SystemFailure) -> Int64? {
        var offset: Int64 = 0
        while offset < length {
            if try isZero(offset..<min(offset + zeroPage, length)) {
                var start = offset
                while start > 0, try isZero(max(0, start - zeroPage)..<start) { start -= zeroPage }
                start = try max(0, start - zerosBefore(max(0, start)))
                var end = offset
                while end < length, end - start < zeroRun,
                    try isZero(end..<min(end + 1024, length))
                { end = min(end + 1024, length) }
                if end - start >= zeroRun { return start }
            }
            offset += zeroRun
        }
        return nil
    }

    private func isZero(_ range: Range<Int64>) throws(SystemFailure) -> Bool {
        try bytes(range).allSatisfy { $0 == 0 }
    }

    /// Number of zeros directly before an offset, within its page.
    private func zerosBefore(_ offset: Int64) throws(SystemFailure) -> Int64 {
        let page = try bytes(max(0, offset - zeroPage)..<offset)
        return Int64(page.reversed().prefix { $0 == 0 }.count)
    }

    private func bytes(_ range: Range<Int64>) throws(SystemFailure) -> [UInt8] {
        var failed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            let got = uninterrupted {
                pread(descriptor, buffer.baseAddress, range.count, off_t(range.lowerBound))
            }
            failed = got < 0
            count = max(0, got)
        }
        if failed { throw .last("pread", path) }
        return bytes
    }

    private func fill(
        from source: Int32, _ length: Int64, _ methods: [CopyMethod]
    ) throws(SystemFailure) -> CopyMethod {
        for method in methods {
            switch method {
            case .reflink: if try clone(source, length) { return method }
            case .kernel: if try copyInKernel(source, length) { return method }
            case .readAndWrite:
                try readAndWrite(source, length)
                return method
            }
        }
        throw SystemFailure(operation: "copy", path: path, errno: EOPNOTSUPP)
    }

    /// `false` where these two files cannot share blocks.
    private func clone(_ source: Int32, _ length: Int64) throws(SystemFailure) -> Bool {
        let answer = lh_clone(descriptor, source)
        switch answer {
        // Two file systems, one that cannot share blocks, or a kernel or sandbox that forbids it.
        case -EXDEV, -EOPNOTSUPP, -ENOTTY, -EINVAL, -ENOSYS, -EPERM, -ETXTBSY: return false
        default:
            try check(answer, "clone", path)
            if try size() != length { try truncate(to: length) }
            return true
        }
    }

    /// `false` if the kernel cannot copy; the next method then copies everything again.
    private func copyInKernel(_ source: Int32, _ length: Int64) throws(SystemFailure) -> Bool {
        var offset: Int64 = 0
        while offset < length {
            let answer = lh_copy_range(
                descriptor, source, offset, min(Limits.copyPieceBytes, length - offset))
            switch Int32(truncatingIfNeeded: answer < 0 ? answer : 1) {
            // Linux before 5.3 does not copy between file systems; some file systems return 0 if
            // they cannot copy.
            case -EXDEV, -EOPNOTSUPP, -EINVAL, -ENOSYS, -EPERM: return false
            case let failure where failure < 0: try check(failure, "copy_file_range", path)
            default:
                if answer == 0 { return false }
                offset += answer
            }
        }
        return true
    }

    private func readAndWrite(_ source: Int32, _ length: Int64) throws(SystemFailure) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Limits.copyBufferBytes, alignment: 4096)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while offset < length {
            let wanted = Int(min(Int64(buffer.count), length - offset))
            let got = uninterrupted { pread(source, buffer.baseAddress, wanted, off_t(offset)) }
            if got < 0 { throw .last("pread", path) }
            // The source was truncated meanwhile; the caller notices by the size.
            if got == 0 { return }
            var written = 0
            while written < got {
                let count = uninterrupted {
                    pwrite(
                        descriptor, buffer.baseAddress! + written, got - written,
                        off_t(offset) + off_t(written))
                }
                if count < 0 { throw .last("pwrite", path) }
                written += count
            }
            offset += Int64(got)
        }
    }
}
