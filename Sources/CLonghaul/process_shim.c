#include "process_shim.h"
#include "job_shim.h"
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

// Declared as in sqlite3.h; weak, as not every program that links this module uses SQLite.
extern int sqlite3_config(int option, ...) __attribute__((weak));
#define LH_SQLITE_CONFIG_MEMSTATUS 9

static int argument_count;
static char **argument_list;

// glibc passes the arguments of main to constructors, too.
__attribute__((constructor)) static void keep_arguments(int count, char **list) {
    argument_count = count;
    argument_list = list;
    if (count > 1 && strcmp(list[1], LH_JOB_ARGUMENT) == 0) lh_job_run(count, list);
}

char *const *lh_arguments(int *count) {
    *count = argument_count;
    return argument_list;
}

void lh_process_tune(void) {
    // The parent process may have ignored SIGCHLD, which execve(2) keeps: the exit status of a
    // child would then be lost (wait(2)).
    signal(SIGCHLD, SIG_DFL);
    // Children of the program that this process was before an execve(2), and that ended meanwhile.
    while (waitpid(-1, NULL, WNOHANG) > 0) continue;
    // libcurl allocates its buffers anew for every request. With these thresholds glibc takes them
    // from the heap and keeps them there: no page faults at the next allocation, and no TLB
    // shootdown on other processors.
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 8 << 20);
    // SQLite's memory statistics are not read, and every allocation would take a lock for them.
    if (sqlite3_config) sqlite3_config(LH_SQLITE_CONFIG_MEMSTATUS, 0);
}
