#ifndef LONGHAUL_HOST_SHIM_H
#define LONGHAUL_HOST_SHIM_H
// Making, watching and ending the processes of hosts. Every function answers with its result, or
// with -errno.

// Makes a process of its own session and group, with these standard streams and no other
// descriptor, default signals, working directory `/`. It becomes the program at `path` when it
// reads a byte from `go`, and ends when that is closed without one. The pid.
int lh_host_fork(
    const char *path, char *const arguments[], char *const environment[], int go,
    const int streams[3]);

// pidfd_open(2); readable once the process has ended, whoever its parent is.
int lh_pidfd_open(int pid);
int lh_pidfd_signal(int descriptor, int signal);
// To every process of the group.
int lh_group_signal(int pid, int signal);
// waitpid(2) without waiting: 0 while it runs, 1 exited (`status`), 2 ended by signal `status`.
int lh_reap(int pid, int *status);

// mkfifoat(2), 0600, in place of what has the name.
int lh_fifo(int directory, const char *name);
// A file without a name, for reading and writing.
int lh_unnamed_file(int directory);

// Open file description lock over the whole file that keeps out exclusive ones only. 0 or -EAGAIN.
int lh_ofd_share_lock(int descriptor);
#endif
