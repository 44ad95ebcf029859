#define _GNU_SOURCE
#include "copy_shim.h"

#include <errno.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

int lh_clone(int to, int from) {
    int result;
    do {
        result = ioctl(to, FICLONE, from);
    } while (result < 0 && errno == EINTR);
    return result < 0 ? -errno : 0;
}

int64_t lh_copy_range(int to, int from, int64_t offset, int64_t length) {
    off_t in = offset, out = offset;
    ssize_t result;
    do {
        result = copy_file_range(from, &in, to, &out, (size_t)length, 0);
    } while (result < 0 && errno == EINTR);
    return result < 0 ? -errno : result;
}
