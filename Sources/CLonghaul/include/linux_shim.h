#ifndef LONGHAUL_LINUX_SHIM_H
#define LONGHAUL_LINUX_SHIM_H
// Linux calls that Swift's Glibc module does not show (variadic functions, GNU extensions, macros).
// Every function answers with its result, or with -errno: errno itself does not survive the way
// from C to Swift reliably.
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

// What statx(2) says of a file. `birth`: when it was created, in nanoseconds since 1970; 0 = the
// file system does not say. `touched`: the later of its last changes, in milliseconds since 1970.
// `mount`: the number of the mount that it was looked at through, of which Linux 6.8 and later give
// none twice in a boot; 0 = the kernel does not say.
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
// fallocate(2) with FALLOC_FL_KEEP_SIZE, retried when interrupted: all of it or nothing; on tmpfs
// only a look for room. Nobody else may be writing to the file.
int lh_preallocate(int descriptor, int64_t length);
// The same of a file that others write to: what was got is kept, whatever comes after it.
int lh_keep_room(int descriptor, int64_t length);
// Frees what is allocated beyond the end of the file. Nobody may be writing to it.
int lh_give_back(int descriptor);
// -EOPNOTSUPP on FUSE, whose daemon is not told of it.
int lh_syncfs(int descriptor);
// Whether the file system may give a file another number after each mount: FAT, exFAT, FUSE.
int lh_renumbers(int descriptor);
// Where the file has its first hole, its end included; -EOPNOTSUPP where zeros that were written may
// be holes as well (file systems that compress), or that is not known.
int64_t lh_first_hole(int descriptor);
// On Btrfs, what is made in the directory from now on, or the empty file, is written in place, so
// that a page of it that has its block can always be written. 1 where it is so, or where no file
// system would do it otherwise; 0 where it cannot be had; -errno.
int lh_keep_in_place(int descriptor);
// The mode bits that the default ACL of a directory grants to what is made in it; -errno where it
// has none.
int lh_default_mode(int directory);
// ioprio_set(2) of the calling thread: class idle, or back to none (which follows its nice value).
void lh_disk_priority(int idle);

// Open file description locks over the whole file. Taking answers 0 or -EAGAIN when another holds
// it; probing answers 1 when an exclusive lock could not be had, else 0, and takes nothing.
int lh_ofd_try_lock(int descriptor);
int lh_ofd_is_locked(int descriptor);
void lh_ofd_unlock(int descriptor);

// fcntl(2) with F_DUPFD_CLOEXEC.
int lh_duplicate(int descriptor);

int lh_eventfd(void);
// Adds one to the eventfd; never blocks. Safe in a signal handler.
void lh_eventfd_raise(int descriptor);
// Takes what was added; 0 if nothing.
uint64_t lh_eventfd_take(int descriptor);

int64_t lh_clock_boottime(void);
int64_t lh_clock_realtime_milliseconds(void);
int lh_random(void *bytes, size_t count);

// Characters are UTF-8 for the calling thread, whatever the process's locale is. What it answers,
// NULL too, is for lh_locale_leave, before the thread ends.
void *lh_locale_use_utf8(void);
void lh_locale_leave(void *locale);

// Waits for a thread's end, so many milliseconds at the most: whether it has ended and is joined.
_Bool lh_join_within(pthread_t thread, int milliseconds);
// Names the calling thread; the kernel keeps 15 bytes.
void lh_name_thread(const char *name);
// The process's variables, ended by a null; null itself after clearenv(3).
char **lh_environment(void);

// Words of shared memory at an address: stores release, loads acquire.
void lh_word_store(uintptr_t address, uint64_t value);
uint64_t lh_word_load(uintptr_t address);

// While caught, the signal only writes its number, a byte, to `descriptor` (a non-blocking pipe).
// 1 when the signal was ignored and is left so (nohup, `&` in a script).
int lh_signal_catch(int signal, int descriptor);
// Back to what was there before the first catch.
int lh_signal_restore(int signal);
int lh_signal_ignore(int signal);
// Stops this process as SIGTSTP does where nobody catches it, and returns when it is continued: at
// once where the kernel lets the signal do nothing (a process group without a shell).
int lh_suspend(void);
int lh_pipe(int ends[2]);

// posix_spawn(3) of a process of its own session: standard input from /dev/null, output and errors
// to `log` (-1 = /dev/null), no other descriptor, working directory `/`, default signals. The pid.
int lh_spawn_detached(
    const char *path, char *const arguments[], char *const environment[], int log);
#endif
