// Runs a command and meddles with one of its system calls that change something.
//
//   failpoint [--at N --call NAME --do kill|after|ERRNO] [--power DIR] [--log FILE] -- COMMAND...
//
// The calls of the command, of all its threads and children, are numbered from 1 in the order in
// which they happen. At number N, or at the first NAME after it (threads do not always take turns in
// the same way), the whole tree is killed before the call (kill) or right after it (after), or the
// call is not made and fails with the error number. With --power the file system of DIR is shut down
// just before a kill: nothing reaches its disk any more. The log has a line per call:
// its number, name and what it works on. A seccomp filter stops the command at these calls only, so
// that everything else runs at full speed.
//
// Exit status: the command's, or 128 + the signal that ended it.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
    long number;
    const char *name;
} calls[] = {
    {SYS_write, "write"},         {SYS_writev, "writev"},       {SYS_pwrite64, "pwrite64"},
    {SYS_fsync, "fsync"},         {SYS_fdatasync, "fdatasync"}, {SYS_syncfs, "syncfs"},
    {SYS_rename, "rename"},       {SYS_renameat, "renameat"},   {SYS_renameat2, "renameat2"},
    {SYS_link, "link"},           {SYS_linkat, "linkat"},       {SYS_unlink, "unlink"},
    {SYS_unlinkat, "unlinkat"},   {SYS_ftruncate, "ftruncate"}, {SYS_fallocate, "fallocate"},
    {SYS_mkdir, "mkdir"},         {SYS_mkdirat, "mkdirat"},     {SYS_connect, "connect"},
    {SYS_sendto, "send"},         {SYS_sendmsg, "sendmsg"},
};
enum { call_count = sizeof calls / sizeof *calls };

static void die(const char *what) {
    perror(what);
    exit(125);
}

static void trap_calls(void) {
    struct sock_filter program[call_count + 4];
    int length = 0;
    program[length++] = (struct sock_filter)BPF_STMT(
        BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < call_count; i++)
        program[length++] = (struct sock_filter)BPF_JUMP(
            BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, call_count - i, 0);
    program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    struct sock_fprog filter = {.len = length, .filter = program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) die("prctl");
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0) die("seccomp");
}

static const char *name_of(long number) {
    for (int i = 0; i < call_count; i++)
        if (calls[i].number == number) return calls[i].name;
    return "?";
}

// FS_IOC_SHUTDOWN of ext4 and others, which older headers do not have.
static const unsigned long fs_shutdown = _IOR('X', 125, __u32);
static const __u32 without_flush = 2;

static void end_all(pid_t first, int power) {
    if (power >= 0 && ioctl(power, fs_shutdown, &without_flush) < 0) die("shutdown");
    kill(first, SIGKILL);
}

static int is_local(pid_t pid, const char *socket) {
    char path[64], line[512], wanted[32];
    unsigned long inode;
    if (sscanf(socket, "socket:[%lu]", &inode) != 1) return 0;
    snprintf(path, sizeof path, "/proc/%d/net/unix", pid);
    snprintf(wanted, sizeof wanted, " %lu", inode);
    FILE *file = fopen(path, "re");
    int found = 0;
    while (file && !found && fgets(line, sizeof line, file)) {
        const char *at = strstr(line, wanted);
        found = at && (at[strlen(wanted)] == '\n' || at[strlen(wanted)] == ' ');
    }
    if (file) fclose(file);
    return found;
}

// What a descriptor or a path argument leads to, for the log.
static void subject(pid_t pid, const struct user_regs_struct *regs, char *out, size_t size) {
    char link[64];
    long number = regs->orig_rax;
    int by_path = number == SYS_rename || number == SYS_link || number == SYS_unlink
        || number == SYS_mkdir;
    int by_name = number == SYS_renameat || number == SYS_renameat2 || number == SYS_linkat
        || number == SYS_unlinkat || number == SYS_mkdirat;
    if (by_path || by_name) {
        unsigned long address = by_path ? regs->rdi : regs->rsi;
        size_t at = 0;
        while (at + sizeof(long) < size) {
            errno = 0;
            long word = ptrace(PTRACE_PEEKDATA, pid, address + at, 0);
            if (errno) break;
            memcpy(out + at, &word, sizeof word);
            if (memchr(&word, 0, sizeof word)) return;
            at += sizeof word;
        }
        out[at] = 0;
        return;
    }
    snprintf(link, sizeof link, "/proc/%d/fd/%d", pid, (int)regs->rdi);
    ssize_t length = readlink(link, out, size - 1);
    out[length < 0 ? 0 : length] = 0;
    if (is_local(pid, out)) snprintf(out, size, "local socket");
}

int main(int count, char **words) {
    long at = 0;
    const char *action = "", *wanted = "";
    FILE *log = NULL;
    int power = -1;
    int next = 1;
    for (; next < count && strcmp(words[next], "--") != 0; next += 2) {
        if (next + 1 >= count) return 64;
        if (strcmp(words[next], "--at") == 0) at = atol(words[next + 1]);
        else if (strcmp(words[next], "--do") == 0) action = words[next + 1];
        else if (strcmp(words[next], "--call") == 0) wanted = words[next + 1];
        else if (strcmp(words[next], "--power") == 0) {
            power = open(words[next + 1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            if (power < 0) die(words[next + 1]);
        } else if (strcmp(words[next], "--log") == 0) log = fopen(words[next + 1], "we");
        else return 64;
    }
    if (++next >= count) return 64;
    pid_t first = fork();
    if (first < 0) die("fork");
    if (first == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0) die("ptrace");
        raise(SIGSTOP);
        trap_calls();
        execvp(words[next], words + next);
        die(words[next]);
    }
    int status, result = 125, seen = 0;
    pid_t doomed = 0;
    if (waitpid(first, &status, 0) < 0) die("waitpid");
    long options = PTRACE_O_EXITKILL | PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE
        | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC;
    if (ptrace(PTRACE_SETOPTIONS, first, 0, options) < 0) die("options");
    ptrace(PTRACE_CONT, first, 0, 0);
    for (;;) {
        pid_t pid = waitpid(-1, &status, __WALL);
        if (pid < 0) {
            if (errno == EINTR) continue;
            break;
        }
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (pid == first)
                result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            continue;
        }
        int signal = WSTOPSIG(status), event = status >> 16;
        if (event == PTRACE_EVENT_SECCOMP) {
            struct user_regs_struct regs;
            if (ptrace(PTRACE_GETREGS, pid, 0, &regs) < 0) continue;
            seen++;
            char text[512];
            subject(pid, &regs, text, sizeof text);
            if (log) {
                fprintf(log, "%d %s %s\n", seen, name_of(regs.orig_rax), text);
                fflush(log);
            }
            int deadly = strcmp(action, "kill") == 0 || strcmp(action, "after") == 0;
            // Threads wake each other through these; the kernel does not let them fail.
            int inner = strstr(text, "anon_inode") || strcmp(text, "local socket") == 0;
            int now = at > 0 && seen >= at && (deadly || !inner)
                && (!*wanted || strcmp(wanted, name_of(regs.orig_rax)) == 0);
            if (now) at = 0;
            if (now && strcmp(action, "kill") == 0) {
                end_all(first, power);
                continue;
            }
            if (now && deadly) {
                doomed = pid;
                ptrace(PTRACE_SYSCALL, pid, 0, 0);
                continue;
            }
            if (now) {
                regs.orig_rax = -1;
                regs.rax = -atol(action);
                ptrace(PTRACE_SETREGS, pid, 0, &regs);
            }
            ptrace(PTRACE_CONT, pid, 0, 0);
        } else if (pid == doomed && event == 0) {
            // The call has returned.
            end_all(first, power);
            doomed = 0;
        } else {
            // New threads begin with a SIGSTOP of the tracer's making; events carry SIGTRAP.
            int deliver = event != 0 || signal == SIGSTOP || signal == SIGTRAP ? 0 : signal;
            ptrace(PTRACE_CONT, pid, 0, deliver);
        }
    }
    return result;
}
