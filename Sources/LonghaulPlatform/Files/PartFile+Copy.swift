internal import CLonghaul
internal import Glibc
package import LonghaulCore

/// How the bytes of one file came into another.
package enum CopyMethod: Hashable, Sendable {
    /// The file system shares the blocks until one of the files is written (FICLONE).
    case reflink
    /// The kernel copied (copy_file_range).
    case kernel
    /// Through this process.
    case readAndWrite
}

extension PartFile {
    /// Copied at a time: other work on this disk gets its turn between two pieces.
    private static let pieceBytes: Int64 = 64 << 20
    private static let bufferBytes = 1 << 20

    /// Creates a file with the bytes of an open file: an inode of its own, whatever is written to
    /// either later. Nothing is durable yet; where this throws, nothing is left behind.
    ///
    /// - Parameter methods: Tried in this order.
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

    /// Fills the empty file with the bytes of another, if that is the file that it was at a moment:
    /// this inode, of this length, and neither written, renamed nor otherwise touched since. Throws
    /// `ESTALE` if it is not, also if it changed meanwhile; what was copied is void then.
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
        // Another file system, one that cannot, or a kernel or sandbox that does not let us.
        case -EXDEV, -EOPNOTSUPP, -ENOTTY, -EINVAL, -ENOSYS, -EPERM, -ETXTBSY: return false
        default:
            try check(answer, "clone", path)
            if try size() != length { try truncate(to: length) }
            return true
        }
    }

    /// `false` where the kernel cannot; what it has copied until then is copied once more.
    private func copyInKernel(_ source: Int32, _ length: Int64) throws(SystemFailure) -> Bool {
        var offset: Int64 = 0
        while offset < length {
            let answer = lh_copy_range(
                descriptor, source, offset, min(Self.pieceBytes, length - offset))
            switch Int32(truncatingIfNeeded: answer < 0 ? answer : 1) {
            // Before Linux 5.3 not between file systems; some answer 0 for what they cannot.
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
            byteCount: Self.bufferBytes, alignment: 4096)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while offset < length {
            let wanted = Int(min(Int64(buffer.count), length - offset))
            let got = uninterrupted { pread(source, buffer.baseAddress, wanted, off_t(offset)) }
            if got < 0 { throw .last("pread", path) }
            // It was cut short under us: seen by the size.
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
