#ifndef LONGHAUL_PROCESS_SHIM_H
#define LONGHAUL_PROCESS_SHIM_H

// Changes settings of the whole process. For an executable, before its second thread: a library
// must leave these settings alone.
void lh_process_tune(void);

// The arguments of this process, its own name included. Swift reads its list from /proc, which is
// not mounted everywhere.
char *const *lh_arguments(int *count);
#endif
