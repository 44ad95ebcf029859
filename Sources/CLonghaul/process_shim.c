#include "process_shim.h"
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

// Declared as in sqlite3.h; weak, as not every program that links this module uses SQLite.
extern int sqlite3_config(int option, ...) __attribute__((weak));
#define LH_SQLITE_CONFIG_MEMSTATUS 9

static int argument_count;
static char **argument_list;

// glibc passes the arguments of main to constructors, too. They are kept here and never read: only
// the programs of this project read theirs.
__attribute__((constructor)) static void keep_arguments(int count, char **list) {
    argument_count = count;
    argument_list = list;
}

char *const *lh_arguments(int *count) {
    *count = argument_count;
    return argument_list;
}

// The first process of a container is the parent of all orphans there, and no other process would
// await these. It only awaits them, and its child continues as the program. Signals are forwarded;
// the terminal's go to the child, whose group has it.
static void leave_first_process(void) {
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t child = fork();
    if (child <= 0) {
        if (child == 0 && setpgid(0, 0) == 0) tcsetpgrp(0, getpid());
        sigprocmask(SIG_SETMASK, &before, NULL);
        return;
    }
    prctl(PR_SET_NAME, "longhaul-init");
    for (;;) {
        int signal = 0, status;
        sigwait(&all, &signal);
        if (signal != SIGCHLD) {
            kill(child, signal);
            continue;
        }
        for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
            if (pid == child)
                _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    }
}

void lh_process_tune(void) {
    // The parent process may have ignored SIGCHLD, which execve(2) keeps: the exit status of a
    // child would then be lost (wait(2)).
    signal(SIGCHLD, SIG_DFL);
    if (getpid() == 1) leave_first_process();
    // Children of the program that this process was before an execve(2), and that ended meanwhile.
    while (waitpid(-1, NULL, WNOHANG) > 0) continue;
    // libcurl allocates its buffers for every request. With these thresholds glibc takes them from
    // the heap and keeps them there: no page faults at the next allocation, and no TLB shootdown on
    // other processors.
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 8 << 20);
    // SQLite's memory statistics are not read, and every allocation would take a lock for them.
    if (sqlite3_config) sqlite3_config(LH_SQLITE_CONFIG_MEMSTATUS, 0);
}
