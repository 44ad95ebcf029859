internal import Glibc
package import LonghaulModel

extension SystemFailure {
    /// The error that a transfer ends with, or with which a command is refused: a sentence that
    /// says what happened and what to do.
    package func longhaulError(bytesKept: Int64 = 0) -> LonghaulError {
        LonghaulError(code, sentence, retryable: isRetryable, bytesKept: bytesKept)
    }

    package var code: LonghaulError.Code {
        switch errno {
        case _ where operation == "name": .io
        case ENOSPC, EDQUOT: .noSpace
        case EACCES, EPERM, EROFS: .permission
        case EEXIST: .destinationExists
        case EFBIG: .tooLarge
        default: .io
        }
    }

    /// True if a retry may succeed without a change by the user: a resource was short or busy.
    private var isRetryable: Bool {
        switch errno {
        case ESTALE, ETIMEDOUT: true
        default: isPassing
        }
    }

    /// A resource of the machine is short for a moment.
    package var isPassing: Bool { FailureTable.classify(errno: errno).kind == .transient }

    private var sentence: String {
        switch errno {
        case ENAMETOOLONG where operation == "name":
            "the name of \(path) is too long for its file system; choose another one (`set -o`), "
                + "then resume"
        case _ where operation == "name":
            "the file system takes no file of the name \(path); choose another one (`set -o`), "
                + "then resume"
        case ENOSPC where operation == "open":
            "the disk that holds \(path) has no room for another file: it is full, or has no inode "
                + "left (`df -i`); remove something, then resume"
        case ENOSPC:
            "the disk that holds \(path) is full; free some space, then resume"
        case EDQUOT:
            "the disk quota for \(path) is used up; free some space, then resume"
        case EACCES, EPERM:
            "no permission to \(deed) \(path); change its permissions, or choose another place"
        case EROFS:
            "\(path) is on a read-only file system; make it writable and resume, or choose another "
                + "destination"
        case EEXIST:
            "\(path) exists already; move it away, or choose --if-exists overwrite or rename"
        case EFBIG:
            "the file system of \(path) cannot hold so large a file, or this process may not write "
                + "one (`ulimit -f`); choose another destination, or raise the limit"
        case ENOENT where operation == "follow":
            "\(path) is a symbolic link to what is not there; bring that back, or choose another "
                + "destination"
        case ENOENT where operation == "find":
            "\(path) does not exist; make it, or choose another destination"
        case ENOENT where operation == "start without":
            "\(path) is not there, and without it no engine can be started"
        case ENOENT where operation == "mkdir":
            "no directory can be created at \(path); choose another destination"
        case ENOENT:
            "\(path) does not exist any more; bring the directory back, then resume"
        case ENOTDIR:
            "a part of the path \(path) is not a directory; choose another destination"
        case EISDIR:
            "\(path) is a directory; choose a file name in it"
        case ELOOP:
            "\(path) is a symbolic link, which is not followed there; choose another destination"
        case ENAMETOOLONG:
            "the name \(path) is too long for the file system; choose a shorter one"
        case EMFILE, ENFILE:
            "too many files are open to \(deed) \(path); raise the limit (ulimit -n)"
        case EBUSY, ETXTBSY:
            "another program has \(path) in use; end that, then resume"
        case EIO:
            "the disk failed while trying to \(deed) \(path); check the disk, then resume"
        default:
            "could not \(deed) \(path): \(reason)"
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
