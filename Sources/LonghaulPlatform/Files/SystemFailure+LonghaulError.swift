internal import Glibc
package import LonghaulCore

extension SystemFailure {
    /// The error that a transfer ends with, or with which a command is refused: a sentence that
    /// says what happened and what to do.
    package func longhaulError(bytesKept: Int64 = 0) -> LonghaulError {
        LonghaulError(code, sentence, retryable: isRetryable, bytesKept: bytesKept)
    }

    package var code: LonghaulError.Code {
        switch errno {
        case ENOSPC, EDQUOT: .noSpace
        case EACCES, EPERM, EROFS: .permission
        case EEXIST: .destinationExists
        case EFBIG: .tooLarge
        default: .io
        }
    }

    /// Whether a retry may succeed without a change by the user: a resource was short or busy.
    private var isRetryable: Bool {
        switch errno {
        case EBUSY, ESTALE, ETIMEDOUT: true
        default: isPassing
        }
    }

    /// A resource of the machine is short for a moment.
    package var isPassing: Bool { FailureTable.classify(errno: errno).kind == .transient }

    private var sentence: String {
        switch errno {
        case ENOSPC where operation == "open":
            "The disk that holds \(path) has no room for another file: it is full, or has no inode "
                + "left (`df -i`). Remove something, then resume."
        case ENOSPC:
            "The disk that holds \(path) is full. Free some space, then resume."
        case EDQUOT:
            "The disk quota for \(path) is used up. Free some space, then resume."
        case EACCES, EPERM:
            "No permission to \(deed) \(path). Change its permissions, or choose another place."
        case EROFS:
            "\(path) is on a read-only file system. Make it writable and resume, or choose another "
                + "destination."
        case EEXIST:
            "\(path) exists already. Move it away, or choose --if-exists overwrite or rename."
        case EFBIG:
            "The file system of \(path) cannot hold so large a file, or this process may not write "
                + "one (`ulimit -f`). Choose another destination, or raise the limit."
        case ENOENT where operation == "name", EINVAL where operation == "name":
            "The file system takes no file by the name \(path). Choose another one."
        case ENOENT where operation == "follow":
            "\(path) is a symbolic link to what is not there. Bring that back, or choose another "
                + "destination."
        case ENOENT where operation == "find":
            "\(path) does not exist. Make it, or choose another destination."
        case ENOENT where operation == "start without":
            "\(path) is not there, and without it no engine can be started."
        case ENOENT:
            "\(path) does not exist any more. Bring the directory back, then resume."
        case ENOTDIR:
            "A part of the path \(path) is not a directory. Choose another destination."
        case EISDIR:
            "\(path) is a directory. Choose a file name in it."
        case ELOOP:
            "\(path) is a symbolic link, which is not followed there. Choose another destination."
        case ENAMETOOLONG:
            "The name \(path) is too long for the file system. Choose a shorter one."
        case EMFILE, ENFILE:
            "Too many files are open to \(deed) \(path). Raise the limit (ulimit -n)."
        case EIO:
            "The disk failed while trying to \(deed) \(path). Check the disk, then resume."
        default:
            "Could not \(deed) \(path): \(reason)."
        }
    }

    /// The call as a verb, where its name is not one.
    private var deed: String {
        switch operation {
        case "fdatasync", "fsync", "syncfs": "save"
        case "pwrite": "write"
        case "pread": "read"
        case "mkdir": "create"
        case "unlink": "remove"
        case "fstat", "stat", "lstat", "statvfs": "inspect"
        case "fallocate", "ftruncate": "resize"
        case "fchmod": "set the permissions of"
        case "flock", "fcntl": "lock"
        case "posix_spawn": "start"
        case "pthread_create": "start the thread"
        default: operation
        }
    }
}
