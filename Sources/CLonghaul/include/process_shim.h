#ifndef LONGHAUL_PROCESS_SHIM_H
#define LONGHAUL_PROCESS_SHIM_H

// For a program of our own, before its second thread: settings of the whole process, which a
// library must leave alone.
void lh_process_tune(void);

// What this process was called with, its own name included. Swift has its list from /proc, which
// not every place has that a program runs in.
char *const *lh_arguments(int *count);
#endif
