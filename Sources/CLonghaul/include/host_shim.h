#ifndef LONGHAUL_HOST_SHIM_H
#define LONGHAUL_HOST_SHIM_H
// Creates, watches and ends the processes of hosts. Every function returns its result, or -errno.

#include <stdint.h>

// Creates a process with its own session and group, these standard streams and no other descriptor,
// default signals and working directory `/`. It executes the program at `path` when it reads a byte
// from `go`, and exits if `go` is closed without one. Returns the pid.
int lh_host_fork(
    const char *path, char *const arguments[], char *const environment[], int go,
    const int streams[3]);

// Says on standard error why execve(2) failed so for this program. Async-signal-safe.
void lh_say_cannot_run(const char *path, int error);

// RLIMIT_DATA of the process and of those that it starts (prlimit(2)).
int lh_limit_data(int pid, int64_t bytes);

// The beginning of the name of a control group that bounds the memory of a launch.
#define LH_MEMORY_GROUP "longhaul-launch-"

// The directory of the process's control group of that name, in `path` of `size` bytes. 1 = its
// memory has a bound, 0 = it has none. -ENOENT: the process is in no such group.
int lh_memory_group(int pid, char *path, int size);

// pidfd_open(2). Readable once the process has ended, also if it is no child of this one.
int lh_pidfd_open(int pid);
int lh_pidfd_signal(int descriptor, int signal);
// Signals every process of the group.
int lh_group_signal(int pid, int signal);
// waitpid(2) without waiting: 0 while it runs, 1 exited (`status`), 2 ended by signal `status`.
int lh_reap(int pid, int *status);

// mkfifoat(2), 0600, replacing a file of that name.
int lh_fifo(int directory, const char *name);
// A file without a name, for reading and writing.
int lh_unnamed_file(int directory);

// A file in memory that no directory has.
int lh_memory_file(void);

// Frees the pages of a file's beginning; its size stays.
void lh_release(int descriptor, int64_t length);

// Shared open file description lock over the whole file: it excludes exclusive ones only. 0 or
// -EAGAIN.
int lh_ofd_share_lock(int descriptor);
#endif
