#define _GNU_SOURCE
#include "copy_shim.h"

#include <errno.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int clone_once(int to, int from) {
    int result;
    do {
        result = ioctl(to, FICLONE, from);
    } while (result < 0 && errno == EINTR);
    return result < 0 ? -errno : 0;
}

// Btrfs shares no blocks between a file that is written in place and one that is not, and answers
// EINVAL (ioctl_ficlone(2)). The attribute of an empty file can be changed.
static int matches_attribute(int to, int from) {
    int wanted = 0, flags = 0;
    if (ioctl(from, FS_IOC_GETFLAGS, &wanted) < 0) return 0;
    if (ioctl(to, FS_IOC_GETFLAGS, &flags) < 0) return 0;
    if (((wanted ^ flags) & FS_NOCOW_FL) == 0) return 0;
    flags ^= FS_NOCOW_FL;
    return ioctl(to, FS_IOC_SETFLAGS, &flags) == 0;
}

int lh_clone(int to, int from) {
    int result = clone_once(to, from);
    if (result == -EINVAL && matches_attribute(to, from)) result = clone_once(to, from);
    return result;
}

int64_t lh_copy_range(int to, int from, int64_t offset, int64_t length) {
    off_t in = offset, out = offset;
    ssize_t result;
    do {
        result = copy_file_range(from, &in, to, &out, (size_t)length, 0);
    } while (result < 0 && errno == EINTR);
    return result < 0 ? -errno : result;
}
