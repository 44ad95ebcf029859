#define _GNU_SOURCE
#include "include/job_shim.h"
#include "include/host_shim.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 4096, READ = 64 << 10, PAGE = 4096, STAMP = 27 };

// Standard output or standard error of the command.
struct stream {
    int descriptor;
    char mark;
    // The last byte ended a line as a carriage return: a line feed after it ends no other.
    int has_returned;
    size_t used;
    char line[LINE];
};

struct job {
    pid_t command;
    // Status of the command as wait(2) tells it, once it has ended.
    int status;
    int has_ended;
    // SIGTERM was sent to its group.
    int is_asked;
    // The command ended by itself.
    int has_left;
    long long kill_at;
    long long grace;
    // Bytes; 0 = without a limit.
    long long max_memory;
    struct stream streams[2];
    // Bytes of the log, the hole included, and the end of the hole.
    long long size, hole_end;
    int has_no_holes;
    char stamp[STAMP + 1];
};

static long long milliseconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

// MARK: - The log

static void set_stamp(struct job *job) {
    long long now = milliseconds(CLOCK_REALTIME);
    time_t seconds = now / 1000;
    struct tm parts;
    gmtime_r(&seconds, &parts);
    size_t used = strftime(job->stamp, sizeof job->stamp, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(job->stamp + used, sizeof job->stamp - used, ".%03dZ ", (int)(now % 1000));
}

// The middle of a long log is given back to the disk.
static void drop_middle(struct job *job) {
    long long end = (job->size - LH_JOB_LOG_TAIL) / PAGE * PAGE;
    if (job->has_no_holes || end - job->hole_end < 16 * PAGE || end <= LH_JOB_LOG_HEAD) return;
    if (fallocate(
            1, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, LH_JOB_LOG_HEAD, end - LH_JOB_LOG_HEAD)
        == 0)
        job->hole_end = end;
    else
        job->has_no_holes = 1;
}

// A full disk costs output, not the job.
static void append(struct job *job, const char *bytes, size_t count, int is_last) {
    // A file system without holes keeps the beginning alone.
    if (!is_last && job->has_no_holes && job->size > LH_JOB_LOG_HEAD + LH_JOB_LOG_TAIL) return;
    while (count > 0) {
        ssize_t written = write(1, bytes, count);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        bytes += written;
        count -= written;
        job->size += written;
    }
    drop_middle(job);
}

static void end_line(struct job *job, struct stream *stream) {
    char line[STAMP + LINE + 4];
    size_t used = strlen(job->stamp);
    memcpy(line, job->stamp, used);
    line[used++] = stream->mark;
    line[used++] = ' ';
    memcpy(line + used, stream->line, stream->used);
    used += stream->used;
    line[used++] = '\n';
    stream->used = 0;
    append(job, line, used, 0);
}

static void split(struct job *job, struct stream *stream, const char *bytes, size_t count) {
    for (size_t index = 0; index < count; index++) {
        char byte = bytes[index];
        int ends_again = byte == '\n' && stream->has_returned;
        stream->has_returned = byte == '\r';
        if (ends_again) continue;
        if (byte == '\n' || byte == '\r') {
            end_line(job, stream);
        } else {
            stream->line[stream->used++] = byte;
            if (stream->used == LINE) end_line(job, stream);
        }
    }
}

// Reads what there is; whether there was any.
static int drain(struct job *job, struct stream *stream) {
    static char bytes[READ];
    if (stream->descriptor < 0) return 0;
    ssize_t count = read(stream->descriptor, bytes, sizeof bytes);
    if (count > 0) {
        set_stamp(job);
        split(job, stream, bytes, count);
        return 1;
    }
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return 0;
    close(stream->descriptor);
    stream->descriptor = -1;
    return 0;
}

// A failure under a limit of memory may come from it.
static void say_memory(struct job *job) {
    int has_failed = !WIFEXITED(job->status)
        || (WEXITSTATUS(job->status) != 0 && WEXITSTATUS(job->status) != EX_TEMPFAIL);
    if (job->max_memory == 0 || !has_failed || !job->has_left) return;
    char line[160];
    int count = snprintf(
        line, sizeof line, "longhaul: it may have exceeded its memory of %lld bytes (--max-memory)\n",
        job->max_memory);
    split(job, &job->streams[1], line, count);
}

static void record_end(struct job *job) {
    // Output before the command's end; processes left running may write without end.
    for (int index = 0; index < 2; index++) {
        struct stream *stream = &job->streams[index];
        for (int count = 0; count < 64 && drain(job, stream); count++) {}
        set_stamp(job);
        if (stream->used > 0) end_line(job, stream);
    }
    say_memory(job);
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    double seconds = used.ru_utime.tv_sec + used.ru_stime.tv_sec
        + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    int by_signal = WIFSIGNALED(job->status);
    char line[96];
    int count = snprintf(
        line, sizeof line, "%s= %s %d %.3f\n", job->stamp, by_signal ? "signalled" : "exited",
        by_signal ? WTERMSIG(job->status) : WEXITSTATUS(job->status), seconds);
    append(job, line, count, 1);
    fdatasync(1);
}

// MARK: - The command

static void set_priority(int nice) {
    if (nice == 0) return;
    setpriority(PRIO_PROCESS, 0, nice);
#ifdef SYS_ioprio_set
    // ioprio_set(2): the idle class, of this process.
    syscall(SYS_ioprio_set, 1, 0, 3 << 13);
#endif
}

// Without a control group each process of the command has the limit.
static void limit_memory(long long bytes) {
    char group[4096];
    if (bytes > 0 && lh_memory_group(getpid(), group, sizeof group) != 1)
        lh_limit_data(0, bytes);
}

static void become_command(
    struct job *job, int nice, const char *directory, char *const *command, int pipes[2][2]) {
    setpgid(0, 0);
    // If this supervisor is killed, nothing would know that the command runs.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(pipes[0][1], 1);
    dup2(pipes[1][1], 2);
    set_priority(nice);
    limit_memory(job->max_memory);
    if (chdir(directory) < 0) {
        dprintf(2, "longhaul: its directory cannot be entered: %s\n", directory);
        _exit(127);
    }
    extern char **environ;
    execve(command[0], command, environ);
    lh_say_cannot_run(command[0], errno);
    _exit(127);
}

static void signal_group(struct job *job, int signal) { kill(-job->command, signal); }

static void ask_to_end(struct job *job) {
    if (job->is_asked) return;
    job->is_asked = 1;
    job->kill_at = milliseconds(CLOCK_BOOTTIME) + job->grace;
    signal_group(job, SIGTERM);
    // A stopped process takes no signal.
    signal_group(job, SIGCONT);
}

static void reap(struct job *job) {
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != job->command) continue;
        job->status = status;
        job->has_ended = 1;
        job->has_left = !job->is_asked;
    }
}

static int is_group_empty(struct job *job) {
    return kill(-job->command, 0) < 0 && errno == ESRCH;
}

// Supervises until the command and its group have ended. Processes left in its group end with it.
static void supervise(struct job *job, int signals) {
    for (;;) {
        reap(job);
        if (job->has_ended) {
            if (is_group_empty(job)) return;
            ask_to_end(job);
        }
        long long now = milliseconds(CLOCK_BOOTTIME);
        int wait = -1;
        if (job->is_asked) {
            if (job->kill_at <= now) {
                signal_group(job, SIGKILL);
                job->kill_at = now + 1000;
            }
            wait = (int)(job->kill_at - now < 20 ? job->kill_at - now : 20);
            if (wait < 1) wait = 1;
        }
        struct pollfd asked[3] = {
            {.fd = signals, .events = POLLIN},
            {.fd = job->streams[0].descriptor, .events = POLLIN},
            {.fd = job->streams[1].descriptor, .events = POLLIN},
        };
        if (poll(asked, 3, wait) < 0) continue;
        for (int index = 0; index < 2; index++)
            if (asked[index + 1].revents) drain(job, &job->streams[index]);
        struct signalfd_siginfo found;
        if (asked[0].revents && read(signals, &found, sizeof found) == sizeof found
            && found.ssi_signo != SIGCHLD)
            ask_to_end(job);
    }
}

void lh_job_run(int count, char *const *arguments) {
    if (count < 6) _exit(64);
    static struct job job;
    job.grace = atoll(arguments[2]);
    job.hole_end = LH_JOB_LOG_HEAD;
    int nice = atoi(arguments[3]);
    const char *memory = strchr(arguments[3], ',');
    if (memory) job.max_memory = atoll(memory + 1);
    prctl(PR_SET_NAME, "longhaul-job");
    // Processes that the command leaves behind are awaited here.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGTERM);
    sigaddset(&watched, SIGINT);
    sigaddset(&watched, SIGHUP);
    sigaddset(&watched, SIGCHLD);
    sigprocmask(SIG_SETMASK, &watched, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    int signals = signalfd(-1, &watched, SFD_CLOEXEC);
    int pipes[2][2];
    if (signals < 0 || pipe2(pipes[0], O_CLOEXEC) < 0 || pipe2(pipes[1], O_CLOEXEC) < 0) _exit(71);
    job.command = fork();
    if (job.command < 0) _exit(71);
    if (job.command == 0) {
        signal(SIGPIPE, SIG_DFL);
        signal(SIGXFSZ, SIG_DFL);
        become_command(&job, nice, arguments[4], arguments + 5, pipes);
    }
    setpgid(job.command, job.command);
    for (int index = 0; index < 2; index++) {
        close(pipes[index][1]);
        fcntl(pipes[index][0], F_SETFL, O_NONBLOCK);
        job.streams[index].descriptor = pipes[index][0];
        job.streams[index].mark = index == 0 ? 'o' : 'e';
    }
    supervise(&job, signals);
    record_end(&job);
    _exit(WIFSIGNALED(job.status) ? 128 + WTERMSIG(job.status) : WEXITSTATUS(job.status));
}
