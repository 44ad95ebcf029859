#ifndef LONGHAUL_LINUX_SHIM_H
#define LONGHAUL_LINUX_SHIM_H
// Linux calls that Swift's Glibc module does not show (variadic functions, GNU extensions, macros).
// Every function returns its result, or -errno: between C and Swift other calls may change errno.
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

// The result of statx(2). `birth`: time of creation, in nanoseconds since 1970; 0 = the file system
// does not say. `touched`: the later of its last changes, in milliseconds since 1970. `mount`: the
// ID of the mount through which the file was found; 0 = the kernel does not say. Linux 6.8 and
// later use no mount ID twice in a boot.
struct lh_file {
    uint64_t device, inode, mount;
    int64_t birth, touched, size;
    uint32_t mode, owner, links;
};

// An empty path is the open file itself; links are not followed. 0 or -errno.
int lh_look(int directory, const char *path, struct lh_file *file);

// openat2(2); 64-bit flags as there. -ENOSYS before Linux 5.6 and in some seccomp sandboxes.
int lh_openat2(int directory, const char *name, uint64_t flags, uint64_t mode, uint64_t resolve);
int lh_openat(int directory, const char *name, int flags, unsigned mode);
extern const uint64_t lh_resolve_no_symlinks;
// openat(2) of a directory, close-on-exec; O_PATH if `path_only`.
int lh_open_directory(const char *path, int path_only);

// renameat2(2) with RENAME_NOREPLACE.
int lh_rename_noreplace(int from_dir, const char *from, int to_dir, const char *to);
// fallocate(2) with FALLOC_FL_KEEP_SIZE, retried when interrupted: all of it or nothing. On tmpfs
// it only checks the free space. Nothing else may write to the file: a failed call truncates it.
int lh_preallocate(int descriptor, int64_t length);
// The same for a file with other writers: a failed call keeps allocated blocks.
int lh_keep_room(int descriptor, int64_t length);
// Frees blocks allocated beyond the end of the file. Nothing may write to it: it is truncated.
int lh_give_back(int descriptor);
// syncfs(2). -EOPNOTSUPP on FUSE, where the call does not reach the daemon.
int lh_syncfs(int descriptor);
// The file system may change inode numbers with each mount: FAT, exFAT, FUSE.
int lh_renumbers(int descriptor);
// The offset of the file's first hole; its end counts as one. -EOPNOTSUPP where written zeros may
// be stored as holes (file systems that compress), or where that is unknown.
int64_t lh_first_hole(int descriptor);
// On Btrfs, turns copy-on-write off for an empty file, or for all files made in a directory from
// now on: pages with allocated blocks can then be written even if the disk is full. 1 if it is off,
// and on all other file systems; 0 if it cannot be turned off; -errno.
int lh_keep_in_place(int descriptor);
// The mode bits that the default ACL of a directory grants to new files in it; -errno if it has
// none.
int lh_default_mode(int directory);
// ioprio_set(2) of the calling thread: class idle, or back to none (which follows its nice value).
void lh_disk_priority(int idle);
// Gives the calling thread, and threads that it starts later, a nice value of 10 at least.
void lh_processor_priority_low(void);

// Exclusive open file description locks over the whole file. Taking returns 0, or -EAGAIN if the
// file is locked. Probing returns 1 if an exclusive lock could not be had, else 0, and takes
// nothing.
int lh_ofd_try_lock(int descriptor);
int lh_ofd_is_locked(int descriptor);
void lh_ofd_unlock(int descriptor);

// fcntl(2) with F_DUPFD_CLOEXEC.
int lh_duplicate(int descriptor);

int lh_eventfd(void);
// Adds one to the eventfd; never blocks. Safe in a signal handler.
void lh_eventfd_raise(int descriptor);
// Reads and resets the sum; 0 if nothing was added.
uint64_t lh_eventfd_take(int descriptor);

int64_t lh_clock_boottime(void);
int64_t lh_clock_realtime_milliseconds(void);
int lh_random(void *bytes, size_t count);

// Sets the calling thread's characters to UTF-8, regardless of the process's locale. Pass the
// result, NULL too, to lh_locale_leave before the thread ends.
void *lh_locale_use_utf8(void);
void lh_locale_leave(void *locale);

// Waits at most `milliseconds` for the thread's end. True if it has ended and is joined.
_Bool lh_join_within(pthread_t thread, int milliseconds);
// Names the calling thread; the kernel keeps 15 bytes.
void lh_name_thread(const char *name);
// The process's environment, ended by a null; null itself after clearenv(3).
char **lh_environment(void);

// Label of the file system that a file is on, of at most 256 bytes and ended by a null; the 16
// bytes of its UUID. -errno: this file system does not tell.
int lh_file_system_label(int descriptor, char label[256]);
int lh_file_system_uuid(int descriptor, unsigned char uuid[16]);
// True if some process has the file open for writing. -errno: not known; the kernel tells the
// file's owner alone, and only for local file systems.
int lh_has_writer(int descriptor);
// 1 if the directory is on a file system whose files other machines, or a program, may change
// unseen.
int lh_is_remote(const char *path);

// Words of shared memory at an address: stores release, loads acquire.
void lh_word_store(uintptr_t address, uint64_t value);
uint64_t lh_word_load(uintptr_t address);

// While caught, the signal only writes its number, a byte, to `descriptor` (a non-blocking pipe).
// Returns 1 if the signal was ignored and is left so (nohup, `&` in a script).
int lh_signal_catch(int signal, int descriptor);
// Restores the action that was set before the catch.
int lh_signal_restore(int signal);
int lh_signal_ignore(int signal);
// Stops this process by the default action of SIGTSTP, and returns when it is continued. Returns at
// once in an orphaned process group, where the kernel discards the signal (setpgid(2)).
int lh_suspend(void);
int lh_pipe(int ends[2]);

// posix_spawn(3) of a process in its own session. Standard input is /dev/null; output and errors go
// to `log` (-1 = /dev/null). It has no other descriptor, working directory `/` and default signals.
// Returns the pid.
int lh_spawn_detached(
    const char *path, char *const arguments[], char *const environment[], int log);
#endif
