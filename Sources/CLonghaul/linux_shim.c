#define _GNU_SOURCE
#include "linux_shim.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

const uint64_t lh_resolve_no_symlinks = RESOLVE_NO_SYMLINKS;

static int answer(int result) { return result < 0 ? -errno : result; }

// MARK: Files

int lh_openat2(int directory, const char *name, uint64_t flags, uint64_t mode, uint64_t resolve) {
    struct open_how how = {.flags = flags, .mode = mode, .resolve = resolve};
    long result;
    do {
        result = syscall(SYS_openat2, directory, name, &how, sizeof how);
    } while (result < 0 && errno == EINTR);
    return answer((int)result);
}

int lh_openat(int directory, const char *name, int flags, unsigned mode) {
    int result;
    do {
        result = openat(directory, name, flags, (mode_t)mode);
    } while (result < 0 && errno == EINTR);
    return answer(result);
}

static int64_t milliseconds(int64_t seconds, int64_t nanoseconds) {
    return seconds * 1000 + nanoseconds / 1000000;
}

static int64_t later(int64_t one, int64_t other) { return one > other ? one : other; }

// Some seccomp sandboxes reject statx(2).
static int look_without_birth(int directory, const char *path, int flags, struct lh_file *file) {
    struct stat all;
    if (fstatat(directory, path, &all, flags) < 0) return -errno;
    *file = (struct lh_file){
        .device = all.st_dev,
        .inode = all.st_ino,
        .touched = later(milliseconds(all.st_mtim.tv_sec, all.st_mtim.tv_nsec),
                         milliseconds(all.st_ctim.tv_sec, all.st_ctim.tv_nsec)),
        .size = all.st_size,
        .mode = all.st_mode,
        .owner = all.st_uid,
        .links = (uint32_t)all.st_nlink,
    };
    return 0;
}

// Numbers of linux/stat.h, which may be older than the kernel.
enum { mount_id = 0x1000, unique_mount_id = 0x4000, mount_id_word = 0x90 };

int lh_look(int directory, const char *path, struct lh_file *file) {
    struct statx all;
    int flags = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;
    unsigned asked = STATX_BASIC_STATS | STATX_BTIME | mount_id | unique_mount_id;
    if (statx(directory, path, flags, asked, &all) < 0) {
        if (errno != ENOSYS && errno != EPERM) return -errno;
        return look_without_birth(directory, path, flags, file);
    }
    *file = (struct lh_file){
        .device = makedev(all.stx_dev_major, all.stx_dev_minor),
        .inode = all.stx_ino,
        .touched = later(milliseconds(all.stx_mtime.tv_sec, all.stx_mtime.tv_nsec),
                         milliseconds(all.stx_ctime.tv_sec, all.stx_ctime.tv_nsec)),
        .size = (int64_t)all.stx_size,
        .mode = all.stx_mode,
        .owner = all.stx_uid,
        .links = all.stx_nlink,
    };
    if (all.stx_mask & STATX_BTIME)
        file->birth = all.stx_btime.tv_sec * 1000000000 + all.stx_btime.tv_nsec;
    if (all.stx_mask & (mount_id | unique_mount_id))
        memcpy(&file->mount, (const char *)&all + mount_id_word, sizeof file->mount);
    return 0;
}

int lh_open_directory(const char *path, int path_only) {
    int flags = O_DIRECTORY | O_CLOEXEC | (path_only ? O_PATH : O_RDONLY);
    return lh_openat(AT_FDCWD, path, flags, 0);
}

int lh_rename_noreplace(int from_dir, const char *from, int to_dir, const char *to) {
    return answer(renameat2(from_dir, from, to_dir, to, RENAME_NOREPLACE));
}

static int reserve(int descriptor, int64_t length) {
    int result;
    do {
        result = fallocate(descriptor, FALLOC_FL_KEEP_SIZE, 0, length);
    } while (result < 0 && errno == EINTR);
    return answer(result);
}

static int64_t allocated(const struct stat *file) { return (int64_t)file->st_blocks * 512; }

// f_blocks is 0 if the mount has no limit, or if the file system does not say.
static int is_short_of(const struct statfs *system, int64_t bytes) {
    return system->f_blocks > 0 && bytes > (int64_t)system->f_bavail * system->f_bsize;
}

int lh_preallocate(int descriptor, int64_t length) {
    struct statfs system;
    struct stat file;
    if (fstat(descriptor, &file) < 0 || fstatfs(descriptor, &system) < 0) return -errno;
    // tmpfs reserves by writing zeros into every page, which costs a good part of the download's
    // own work: there only the free space is checked. ext4 allocates piece by piece, and has taken
    // all free space when it reports ENOSPC: there it is checked first.
    int is_memory = system.f_type == TMPFS_MAGIC;
    // The length is more than a file can have there: freeing space would not help.
    if (lseek(descriptor, length, SEEK_SET) < 0) return errno == EINVAL ? -EFBIG : -errno;
    if ((is_memory || system.f_type == EXT4_SUPER_MAGIC)
        && is_short_of(&system, length - allocated(&file)))
        return -ENOSPC;
    if (is_memory) return 0;
    int result = reserve(descriptor, length);
    // Frees blocks allocated before the failure.
    if (result < 0 && ftruncate(descriptor, file.st_size) < 0) {}
    return result;
}

int lh_keep_room(int descriptor, int64_t length) {
    struct statfs system;
    struct stat file;
    if (fstat(descriptor, &file) < 0 || fstatfs(descriptor, &system) < 0) return -errno;
    if (is_short_of(&system, length - allocated(&file))) return -ENOSPC;
    return reserve(descriptor, length);
}

int lh_give_back(int descriptor) {
    struct stat file;
    if (fstat(descriptor, &file) < 0) return -errno;
    if (allocated(&file) <= file.st_size + file.st_blksize) return 0;
    return answer(ftruncate(descriptor, file.st_size));
}

int lh_syncfs(int descriptor) {
    struct statfs system;
    if (fstatfs(descriptor, &system) == 0 && system.f_type == FUSE_SUPER_MAGIC) return -EOPNOTSUPP;
    return answer(syncfs(descriptor));
}

int lh_renumbers(int descriptor) {
    enum { exfat = 0x2011BAB0 };
    struct statfs system;
    if (fstatfs(descriptor, &system) < 0) return 0;
    unsigned long type = (unsigned long)system.f_type;
    return type == MSDOS_SUPER_MAGIC || type == exfat || type == FUSE_SUPER_MAGIC;
}

int64_t lh_first_hole(int descriptor) {
    struct statfs system;
    if (fstatfs(descriptor, &system) < 0) return -errno;
    switch ((unsigned long)system.f_type) {
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case TMPFS_MAGIC: break;
    default: return -EOPNOTSUPP;
    }
    off_t hole = lseek(descriptor, 0, SEEK_HOLE);
    return hole < 0 ? -errno : hole;
}

int lh_keep_in_place(int descriptor) {
    struct statfs system;
    if (fstatfs(descriptor, &system) < 0) return -errno;
    if ((unsigned long)system.f_type != BTRFS_SUPER_MAGIC) return 1;
    int flags = 0;
    if (ioctl(descriptor, FS_IOC_GETFLAGS, &flags) < 0) return -errno;
    if (flags & FS_NOCOW_FL) return 1;
    flags |= FS_NOCOW_FL;
    if (ioctl(descriptor, FS_IOC_SETFLAGS, &flags) < 0) return -errno;
    // The ioctl succeeds even where it has no effect, as for a file that is not empty.
    if (ioctl(descriptor, FS_IOC_GETFLAGS, &flags) < 0) return -errno;
    return flags & FS_NOCOW_FL ? 1 : 0;
}

// The layout of linux/posix_acl_xattr.h, little-endian: a version, then entries of tag, permissions
// and id.
int lh_default_mode(int directory) {
    enum { user = 0x01, group = 0x04, mask = 0x10, other = 0x20, header = 4, entry = 8 };
    unsigned char text[header + entry * 128];
    ssize_t length = fgetxattr(directory, "system.posix_acl_default", text, sizeof text);
    if (length < 0) return -errno;
    int mode = 0, of_group = 0, of_mask = -1;
    for (ssize_t at = header; at + entry <= length; at += entry) {
        int tag = text[at] | text[at + 1] << 8, granted = text[at + 2] & 7;
        if (tag == user) mode |= granted << 6;
        if (tag == group) of_group = granted;
        if (tag == mask) of_mask = granted;
        if (tag == other) mode |= granted;
    }
    return length <= header ? -ENODATA : mode | (of_mask < 0 ? of_group : of_mask) << 3;
}

void lh_disk_priority(int idle) {
    enum { process = 1, class_shift = 13, class_none = 0, class_idle = 3 };
    syscall(SYS_ioprio_set, process, 0, (idle ? class_idle : class_none) << class_shift);
}

void lh_processor_priority_low(void) {
    const int low = 10;
    id_t thread = (id_t)syscall(SYS_gettid);
    if (getpriority(PRIO_PROCESS, thread) < low)
        setpriority(PRIO_PROCESS, thread, low);
}

// MARK: Locks

// l_pid must be 0 for open file description locks (fcntl(2)).
static struct flock whole_file(void) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0};
    return lock;
}

int lh_ofd_try_lock(int descriptor) {
    struct flock lock = whole_file();
    int result = answer(fcntl(descriptor, F_OFD_SETLK, &lock));
    return result == -EACCES ? -EAGAIN : result;
}

int lh_ofd_is_locked(int descriptor) {
    struct flock lock = whole_file();
    if (fcntl(descriptor, F_OFD_GETLK, &lock) < 0) return -errno;
    return lock.l_type != F_UNLCK;
}

void lh_ofd_unlock(int descriptor) {
    struct flock lock = whole_file();
    lock.l_type = F_UNLCK;
    fcntl(descriptor, F_OFD_SETLK, &lock);
}

// MARK: Events

int lh_duplicate(int descriptor) {
    int answer = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    return answer < 0 ? -errno : answer;
}

int lh_eventfd(void) { return answer(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

void lh_eventfd_raise(int descriptor) {
    uint64_t one = 1;
    // EAGAIN means that 2^64-2 raises are pending, which is raised enough.
    while (write(descriptor, &one, sizeof one) < 0 && errno == EINTR) {}
}

uint64_t lh_eventfd_take(int descriptor) {
    uint64_t count = 0;
    while (read(descriptor, &count, sizeof count) < 0) {
        if (errno != EINTR) return 0;
    }
    return count;
}

// MARK: Clock, randomness, shared words

int64_t lh_clock_boottime(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t lh_clock_realtime_milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int lh_random(void *bytes, size_t count) {
    char *next = bytes;
    while (count > 0) {
        ssize_t got = getrandom(next, count, 0);
        if (got < 0) {
            if (errno == EINTR) continue;
            return -errno;
        }
        next += got;
        count -= (size_t)got;
    }
    return 0;
}

void *lh_locale_use_utf8(void) {
    locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (!locale)
        locale = newlocale(LC_CTYPE_MASK, "en_US.UTF-8", (locale_t)0);
    if (locale)
        uselocale(locale);
    return locale;
}

void lh_locale_leave(void *locale) {
    if (!locale)
        return;
    uselocale(LC_GLOBAL_LOCALE);
    freelocale(locale);
}

_Bool lh_join_within(pthread_t thread, int milliseconds) {
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += milliseconds / 1000;
    end.tv_nsec += milliseconds % 1000 * 1000000L;
    if (end.tv_nsec >= 1000000000L) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000L;
    }
    return pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &end) == 0;
}

void lh_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

char **lh_environment(void) { return environ; }

void lh_word_store(uintptr_t address, uint64_t value) {
    __atomic_store_n((uint64_t *)address, value, __ATOMIC_RELEASE);
}

uint64_t lh_word_load(uintptr_t address) {
    return __atomic_load_n((uint64_t *)address, __ATOMIC_ACQUIRE);
}

// MARK: Signals

static int caught_descriptor[NSIG];
static struct sigaction before[NSIG];
static char is_caught[NSIG];

static void on_signal(int signal) {
    int saved = errno;
    unsigned char byte = (unsigned char)signal;
    // A full pipe holds signals that were not read yet; one more of them adds nothing.
    int descriptor = __atomic_load_n(&caught_descriptor[signal], __ATOMIC_ACQUIRE);
    ssize_t ignored = write(descriptor, &byte, 1);
    (void)ignored;
    errno = saved;
}

int lh_signal_catch(int signal, int descriptor) {
    if (signal <= 0 || signal >= NSIG) return -EINVAL;
    if (is_caught[signal]) return -EBUSY;
    struct sigaction action;
    if (sigaction(signal, NULL, &action) < 0) return -errno;
    if (!(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN) return 1;
    before[signal] = action;
    __atomic_store_n(&caught_descriptor[signal], descriptor, __ATOMIC_RELEASE);
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    if (sigaction(signal, &action, NULL) < 0) return -errno;
    is_caught[signal] = 1;
    return 0;
}

int lh_signal_restore(int signal) {
    if (signal <= 0 || signal >= NSIG) return -EINVAL;
    if (!is_caught[signal]) return 0;
    is_caught[signal] = 0;
    return answer(sigaction(signal, &before[signal], NULL));
}

int lh_signal_ignore(int signal) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_IGN;
    return answer(sigaction(signal, &action, NULL));
}

int lh_suspend(void) {
    struct sigaction action, caught;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    if (sigaction(SIGTSTP, &action, &caught) < 0) return -errno;
    sigset_t wanted, blocked;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTSTP);
    int failure = pthread_sigmask(SIG_UNBLOCK, &wanted, &blocked);
    if (!failure) {
        raise(SIGTSTP);
        pthread_sigmask(SIG_SETMASK, &blocked, NULL);
    }
    int answered = answer(sigaction(SIGTSTP, &caught, NULL));
    return failure ? -failure : answered;
}

int lh_pipe(int ends[2]) { return answer(pipe2(ends, O_CLOEXEC | O_NONBLOCK)); }

// MARK: Processes

int lh_spawn_detached(
    const char *path, char *const arguments[], char *const environment[], int log) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int failure = posix_spawn_file_actions_init(&actions);
    if (failure) return -failure;
    failure = posix_spawnattr_init(&attributes);
    if (failure) {
        posix_spawn_file_actions_destroy(&actions);
        return -failure;
    }
    // The log comes first: in a process started with a closed standard stream, its
    // descriptor may be 0, which /dev/null takes over.
    for (int stream = 2; stream >= 1 && !failure; stream--) {
        failure = log < 0
            ? posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0)
            : posix_spawn_file_actions_adddup2(&actions, log, stream);
    }
    if (!failure)
        failure = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!failure) failure = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    if (!failure) failure = posix_spawn_file_actions_addchdir_np(&actions, "/");

    // The child does not inherit the ignored and blocked signals of this process, such as an
    // ignored SIGPIPE.
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    if (!failure) failure = posix_spawnattr_setsigdefault(&attributes, &all);
    if (!failure) failure = posix_spawnattr_setsigmask(&attributes, &none);
    if (!failure)
        failure = posix_spawnattr_setflags(
            &attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    pid_t pid = -1;
    if (!failure) failure = posix_spawn(&pid, path, &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failure ? -failure : (int)pid;
}

// MARK: File systems

int lh_file_system_label(int descriptor, char label[256]) {
    return answer(ioctl(descriptor, FS_IOC_GETFSLABEL, label));
}

int lh_file_system_uuid(int descriptor, unsigned char uuid[16]) {
    // FS_IOC_GETFSUUID of Linux 6.9, which older headers do not have.
    struct {
        unsigned char length, bytes[16];
    } found = {0};
    if (ioctl(descriptor, _IOR(0x15, 0, typeof(found)), &found) < 0) {
        // Btrfs has its own call.
        struct btrfs_ioctl_fs_info_args info = {0};
        if (ioctl(descriptor, BTRFS_IOC_FS_INFO, &info) < 0) return -errno;
        memcpy(uuid, info.fsid, sizeof found.bytes);
        return 0;
    }
    if (found.length != sizeof found.bytes) return -ENODATA;
    memcpy(uuid, found.bytes, sizeof found.bytes);
    return 0;
}

int lh_has_writer(int descriptor) {
    // Should a writer come while the lease is held, the kernel lets it wait for a moment and sends
    // this signal in place of SIGIO, which would end the process.
    if (fcntl(descriptor, F_SETSIG, SIGURG) < 0) return -errno;
    if (fcntl(descriptor, F_SETLEASE, F_RDLCK) < 0) return errno == EAGAIN ? 1 : -errno;
    fcntl(descriptor, F_SETLEASE, F_UNLCK);
    return 0;
}

int lh_is_remote(const char *path) {
    enum { nfs = 0x6969, smb = 0x517B, smb2 = 0xFE534D42, cifs = 0xFF534D42, ceph = 0x00C36400 };
    struct statfs system;
    if (statfs(path, &system) < 0) return -errno;
    unsigned type = (unsigned)system.f_type;
    return type == nfs || type == smb || type == (unsigned)smb2 || type == (unsigned)cifs
        || type == ceph || type == FUSE_SUPER_MAGIC || type == V9FS_MAGIC;
}
