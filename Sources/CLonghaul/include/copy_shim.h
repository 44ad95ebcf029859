#ifndef LONGHAUL_COPY_SHIM_H
#define LONGHAUL_COPY_SHIM_H
#include <stdint.h>

// ioctl(2) FICLONE: `to`, which is empty, shares the blocks of `from` until one of them is written.
// 0 or -errno.
int lh_clone(int to, int from);
// copy_file_range(2) to the same offset: bytes copied, 0 at the end of `from`, or -errno.
int64_t lh_copy_range(int to, int from, int64_t offset, int64_t length);
#endif
