#define _GNU_SOURCE
#include "include/host_shim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int answer(int result) { return result < 0 ? -errno : result; }

// Between fork and exec of a process with threads only async-signal-safe calls are allowed.
static void say(const char *text) { (void)!write(2, text, strlen(text)); }

// execve(2) reports a missing interpreter as it reports a missing program, and one that is no
// program as it reports a script without an interpreter.
static void say_what_is_wrong(const char *path, int error) {
    char line[257] = "";
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? -1 : read(file, line, sizeof line - 1);
    int is_script = got >= 2 && line[0] == '#' && line[1] == '!';
    if (error == ENOEXEC)
        return say(is_script ? "its interpreter is no program of this machine"
                             : "it begins with no #! line, and is no program of this machine");
    if (file < 0) return say("it is not there");
    if (!is_script) return say("its loader is not there: it was built for another system");
    char *name = line + 2;
    while (*name == ' ' || *name == '\t') name++;
    char *end = name;
    while (*end && *end != ' ' && *end != '\t' && *end != '\n' && *end != '\r') end++;
    int is_dos = *end == '\r';
    *end = 0;
    say("its interpreter ");
    say(name);
    say(is_dos ? "\\r is not there: its lines end with \\r\\n, as on Windows" : " is not there");
}

void lh_say_cannot_run(const char *path, int error) {
    say("longhaul: this program cannot be run: ");
    say(path);
    say(": ");
    switch (error) {
    case ENOENT:
    case ENOEXEC:
        say_what_is_wrong(path, error);
        break;
    case ETXTBSY:
        say("it is open for writing");
        break;
    case EACCES:
        say("it or its interpreter may not be executed: a mode, a directory's mode, or a mount "
            "with noexec");
        break;
    case E2BIG:
        say("its arguments and environment are too long");
        break;
    case ENOMEM:
        say("there is no memory for it");
        break;
    case ELOOP:
    case ENOTDIR:
        say("its path leads nowhere");
        break;
    default:
        say("execve(2) fails");
        break;
    }
    say("\n");
}

static void close_from(int first) {
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)first, ~0u, 0) == 0) return;
#endif
    long last = sysconf(_SC_OPEN_MAX);
    for (int descriptor = first; descriptor < last; descriptor++) close(descriptor);
}

static void become(
    const char *path, char *const arguments[], char *const environment[], int go,
    const int streams[3]) {
    setsid();
    for (int signal = 1; signal < NSIG; signal++) {
        struct sigaction action = {.sa_handler = SIG_DFL};
        sigaction(signal, &action, NULL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    // The duplicates have numbers above the targets 0 to 3, so that no dup2 overwrites a source.
    int moved[4];
    for (int index = 0; index < 3; index++) moved[index] = fcntl(streams[index], F_DUPFD, 10);
    moved[3] = fcntl(go, F_DUPFD, 10);
    for (int index = 0; index < 4; index++) {
        if (moved[index] < 0 || dup2(moved[index], index) < 0) _exit(127);
    }
    close_from(4);
    char word;
    ssize_t got;
    do {
        got = read(3, &word, 1);
    } while (got < 0 && errno == EINTR);
    // End of file: the parent process died before it had recorded this one.
    if (got != 1) _exit(127);
    close(3);
    if (chdir("/") < 0) _exit(127);
    execve(path, arguments, environment);
    lh_say_cannot_run(path, errno);
    _exit(127);
}

int lh_host_fork(
    const char *path, char *const arguments[], char *const environment[], int go,
    const int streams[3]) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) become(path, arguments, environment, go, streams);
    int failure = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid < 0 ? -failure : (int)pid;
}

int lh_limit_data(int pid, int64_t bytes) {
    struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
    return answer(prlimit(pid, RLIMIT_DATA, &limit, NULL));
}

// The beginning of a small file, as a string; its length.
static int beginning_of(const char *path, char *text, int size) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -errno;
    int count = answer((int)read(file, text, size - 1));
    close(file);
    text[count < 0 ? 0 : count] = 0;
    return count;
}

int lh_memory_group(int pid, char *path, int size) {
    char name[64], groups[4096], bound[32];
    snprintf(name, sizeof name, "/proc/%d/cgroup", pid);
    int count = beginning_of(name, groups, sizeof groups);
    if (count < 0) return count;
    // The line of the second version of control groups; see cgroups(7).
    char *own = strstr(groups, "0::/");
    if (own == NULL) return -ENOENT;
    own += 3;
    own[strcspn(own, "\n")] = 0;
    if (strstr(own, "/" LH_MEMORY_GROUP) == NULL) return -ENOENT;
    char file[sizeof groups + 32];
    snprintf(file, sizeof file, "/sys/fs/cgroup%s/memory.max", own);
    if (snprintf(path, size, "/sys/fs/cgroup%s", own) >= size) return -ENAMETOOLONG;
    return beginning_of(file, bound, sizeof bound) > 0 && bound[0] != 'm';
}

int lh_pidfd_open(int pid) { return answer((int)syscall(SYS_pidfd_open, pid, 0)); }

int lh_pidfd_signal(int descriptor, int signal) {
    return answer((int)syscall(SYS_pidfd_send_signal, descriptor, signal, NULL, 0));
}

int lh_group_signal(int pid, int signal) {
    // kill(2) with 0 signals the caller's own group, with -1 every process.
    if (pid <= 1) return -EINVAL;
    return answer(kill(-pid, signal));
}

int lh_reap(int pid, int *status) {
    int word = 0, result;
    do {
        result = waitpid(pid, &word, WNOHANG);
    } while (result < 0 && errno == EINTR);
    if (result <= 0) return result < 0 ? -errno : 0;
    if (WIFEXITED(word)) {
        *status = WEXITSTATUS(word);
        return 1;
    }
    *status = WTERMSIG(word);
    return 2;
}

int lh_fifo(int directory, const char *name) {
    unlinkat(directory, name, 0);
    return answer(mkfifoat(directory, name, 0600));
}

int lh_unnamed_file(int directory) {
    int file = openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    // EISDIR: the kernel does not know O_TMPFILE (before Linux 3.11).
    if (file < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
        file = memfd_create("longhaul", MFD_CLOEXEC);
    // A memfd has the mode 0777 otherwise, and a secret file is refused for it.
    if (file >= 0)
        fchmod(file, 0600);
    return answer(file);
}

int lh_memory_file(void) {
    return answer(memfd_create("longhaul", MFD_CLOEXEC));
}

void lh_release(int descriptor, int64_t length) {
    fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, length);
}

int lh_ofd_share_lock(int descriptor) {
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0};
    int result = answer(fcntl(descriptor, F_OFD_SETLK, &lock));
    return result == -EACCES ? -EAGAIN : result;
}
