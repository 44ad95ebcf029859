#ifndef LONGHAUL_JOB_SHIM_H
#define LONGHAUL_JOB_SHIM_H
// The process between a job's command and its log. The command writes into pipes of this process,
// which writes lines with times into the log and, at the end, how the command ended: so an engine
// that leaves or is killed takes neither the command nor its log nor its exit status with it.

// The first argument of a program of this project that is to be this process.
#define LH_JOB_ARGUMENT "--longhaul-job-run"

// The kept parts of a log: this much of its beginning and this much of its end. Between them the
// file has a hole; offsets in it do not change.
#define LH_JOB_LOG_HEAD (512 << 10)
#define LH_JOB_LOG_TAIL (512 << 10)

// Arguments after the program's name and LH_JOB_ARGUMENT: milliseconds from SIGTERM to SIGKILL, nice
// value, directory, then the command by absolute path and its arguments. A comma and bytes behind the
// nice value limit the memory of each process of the command, unless a control group does: another
// argument would move those that a supervisor of another version reads. Standard input is the
// command's; standard output is the log, opened for appending and empty. Never returns.
void lh_job_run(int count, char *const *arguments);
#endif
