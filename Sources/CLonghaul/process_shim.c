#include "process_shim.h"
#include <malloc.h>
#include <signal.h>

// Of sqlite3.h, which not every program that links this has a use for.
extern int sqlite3_config(int option, ...) __attribute__((weak));
#define LH_SQLITE_CONFIG_MEMSTATUS 9

static int argument_count;
static char **argument_list;

// glibc calls constructors as it calls main.
__attribute__((constructor)) static void keep_arguments(int count, char **list) {
    argument_count = count;
    argument_list = list;
}

char *const *lh_arguments(int *count) {
    *count = argument_count;
    return argument_list;
}

void lh_process_tune(void) {
    // Whoever started us may ignore it: then nobody could ask how a process of ours has ended.
    signal(SIGCHLD, SIG_DFL);
    // libcurl's buffers come and go with every request. Taken from the heap and kept there, they
    // are not faulted in anew each time, and no other processor is told to forget them.
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 8 << 20);
    // Nobody reads SQLite's statistics of memory, for which it takes a lock with every allocation.
    if (sqlite3_config) sqlite3_config(LH_SQLITE_CONFIG_MEMSTATUS, 0);
}
