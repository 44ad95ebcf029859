#define _GNU_SOURCE
#include "curl_shim.h"
#include "flow_shim.h"
#include "yield_shim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const int64_t second = 1000000000;

// MARK: body

// Other threads read the cells while this one writes: each store is a whole word, in no order.
static void cell_add(uint64_t *cell, int word, uint64_t amount) {
    if (cell)
        __atomic_store_n(&cell[word], cell[word] + amount, __ATOMIC_RELAXED);
}

enum { cell_written = 3, cell_received = 4 };

static int compare_all(lh_flow *flow, const char *data, size_t length) {
    char held[4096];
    while (length > 0) {
        size_t wanted = length < sizeof held ? length : sizeof held;
        ssize_t got = pread(flow->fd, held, wanted, flow->position);
        if (got < 0) {
            if (errno == EINTR)
                continue;
            flow->disk_errno = errno;
            flow->outcome = LH_FLOW_DISK;
            return 0;
        }
        if (got == 0 || memcmp(held, data, (size_t)got) != 0) {
            flow->outcome = LH_FLOW_OVERLAP_DIFFERS;
            return 0;
        }
        data += got;
        length -= (size_t)got;
        flow->position += got;
        flow->compare -= got;
    }
    return 1;
}

static int64_t monotonic(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

// A disk that cannot keep up blocks pwrite(2), and with this thread all transfers. The flow pauses
// for as long as the write took, for transfers to other disks; meanwhile the kernel writes back.
static void rest_after(lh_flow *flow, int64_t begun) {
    const int64_t slow = 20000000, longest = 1000000000;
    int64_t now = monotonic();
    int64_t took = now - begun;
    if (took < slow)
        return;
    flow->rests_until = now + (took < longest ? took : longest);
    flow->turn->rests = 1;
}

// libcurl hands over 16 KiB at a time. Written at once, they take twice the time that they take
// gathered: what one request receives in a row is written together, at the latest at the end of the
// turn. A byte counts as written, in the cell and in notices, only once it is.
static const size_t gathered_most = 256 << 10;

lh_flow *lh_turn_write(lh_turn *turn) {
    lh_flow *flow = turn->gathering;
    if (!flow)
        return NULL;
    turn->gathering = NULL;
    int64_t begun = monotonic();
    const uint8_t *data = turn->gathered;
    size_t length = turn->gathered_length;
    int64_t offset = flow->position - (int64_t)length;
    while (length > 0) {
        ssize_t put = pwrite(flow->fd, data, length, offset);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            flow->disk_errno = put < 0 ? errno : EIO;
            flow->outcome = LH_FLOW_DISK;
            flow->position = offset;
            return flow;
        }
        data += put;
        length -= (size_t)put;
        offset += put;
        flow->written += put;
        if (flow->segment_cell)
            __atomic_store_n(&flow->segment_cell[cell_written], (uint64_t)offset, __ATOMIC_RELAXED);
    }
    rest_after(flow, begun);
    if (flow->notice_every > 0 && flow->written >= flow->notice_at) {
        flow->notice_at = flow->written + flow->notice_every;
        flow->noticed = 1;
        turn->notices++;
    }
    return NULL;
}

// Takes bytes that follow the bytes written or gathered by the flow.
static int gather(lh_flow *flow, const char *data, size_t length) {
    lh_turn *turn = flow->turn;
    if (turn->gathering != flow || turn->gathered_length + length > gathered_most)
        lh_turn_write(turn);
    if (!turn->gathered && !(turn->gathered = malloc(gathered_most))) {
        flow->disk_errno = ENOMEM;
        flow->outcome = LH_FLOW_DISK;
    }
    if (flow->outcome != LH_FLOW_FINE)
        return 0;
    if (!turn->gathering)
        turn->gathered_length = 0;
    turn->gathering = flow;
    memcpy(turn->gathered + turn->gathered_length, data, length);
    turn->gathered_length += length;
    flow->position += (int64_t)length;
    return 1;
}

static size_t least(size_t length, int64_t bound) {
    return bound < (int64_t)length ? (size_t)bound : length;
}

// Skips, compares, writes. 0 = the request is over; `outcome` has the reason.
static int take(lh_flow *flow, const char *data, size_t length) {
    flow->received += (int64_t)length;
    cell_add(flow->segment_cell, cell_received, length);
    cell_add(flow->fetch_cell, cell_received, length);

    if (flow->skip > 0) {
        size_t part = least(length, flow->skip);
        flow->skip -= (int64_t)part;
        data += part;
        length -= part;
    }
    if (flow->compare > 0 && length > 0) {
        size_t part = least(length, flow->compare);
        if (!compare_all(flow, data, part))
            return 0;
        data += part;
        length -= part;
    }
    if (length == 0)
        return 1;
    int64_t bound = flow->end;
    int over = LH_FLOW_TOO_LONG;
    if (flow->stop_at >= 0 && (bound < 0 || flow->stop_at <= bound)) {
        bound = flow->stop_at;
        over = LH_FLOW_REACHED_STOP;
    }
    int64_t room = bound < 0 ? INT64_MAX : bound - flow->position;
    size_t part = room > 0 ? least(length, room) : 0;
    if (part > 0 && !gather(flow, data, part))
        return 0;
    if (part < length) {
        flow->outcome = over;
        return 0;
    }
    return 1;
}

void lh_flow_drain(lh_flow *flow, CURL *easy) {
    if (flow->paused) {
        flow->drained = 1;
        curl_easy_pause(easy, CURLPAUSE_CONT);
    }
}

void lh_flow_cut(lh_flow *flow, CURL *easy) {
    // Without a connection libcurl would answer with the socket of the handle's previous request.
    curl_socket_t active = flow->connected ? lh_easy_getinfo_socket(easy) : CURL_SOCKET_BAD;
    if (active != CURL_SOCKET_BAD)
        shutdown(active, SHUT_RDWR);
    if (flow->socket >= 0 && flow->socket != active && flow->cookie != 0
        && lh_socket_cookie(flow->socket) == flow->cookie)
        shutdown(flow->socket, SHUT_RDWR);
}

// libcurl reports progress about once per turn, and once a second while it waits.
static int progressed(
    void *opaque, curl_off_t total, curl_off_t now, curl_off_t up_total, curl_off_t up_now) {
    (void)total;
    (void)now;
    (void)up_total;
    (void)up_now;
    lh_flow *flow = opaque;
    const int64_t longest = 5 * second;
    int64_t time = monotonic();
    if (flow->asked_in != flow->turn->now) {
        flow->asked_in = flow->turn->now;
        flow->asked_since = time;
    }
    return time - flow->asked_since > longest;
}

void lh_flow_bound(lh_flow *flow, CURL *easy) {
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, progressed);
    curl_easy_setopt(easy, CURLOPT_XFERINFODATA, flow);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
}

// A body that is too long is read to its end all the same: the connection stays usable.
static size_t keep(lh_flow *flow, const char *data, size_t length) {
    lh_upload *upload = &flow->upload;
    size_t room = upload->answer_limit - upload->answer_length;
    size_t part = length < room ? length : room;
    if (part > 0) {
        uint8_t *grown = realloc(upload->answer, upload->answer_length + part);
        if (!grown)
            return CURL_WRITEFUNC_ERROR;
        memcpy(grown + upload->answer_length, data, part);
        upload->answer = grown;
        upload->answer_length += part;
    }
    return length;
}

static size_t pass(lh_flow *flow, const char *data, size_t length) {
    if (length == 0)
        return 0;
    // A pause lifted outside of curl_multi_perform loses the error: later calls fail again.
    if (flow->outcome != LH_FLOW_FINE)
        return CURL_WRITEFUNC_ERROR;
    flow->touched = flow->heard = flow->turn->now;
    if (flow->state == LH_FLOW_UNJUDGED) {
        flow->first_chunk = length;
        flow->judge(flow->owner);
    }
    switch ((enum lh_flow_state)flow->state) {
    case LH_FLOW_OPEN:
        break;
    case LH_FLOW_HELD:
        return CURL_WRITEFUNC_PAUSE;
    case LH_FLOW_DISCARD:
        if (flow->outcome == LH_FLOW_FINE)
            return length;
        return CURL_WRITEFUNC_ERROR;
    case LH_FLOW_KEEP:
        return keep(flow, data, length);
    case LH_FLOW_UNJUDGED:
        return CURL_WRITEFUNC_ERROR;
    }
    if (flow->rests_until)
        return CURL_WRITEFUNC_PAUSE;
    size_t done = flow->swallowed;
    flow->swallowed = 0;
    size_t rest = length - done;
    size_t allowed = lh_budget_take(flow->turn->budget, lh_bucket_allows(&flow->bucket, rest));
    if (allowed > 0 && !take(flow, data + done, allowed))
        return CURL_WRITEFUNC_ERROR;
    lh_bucket_take(&flow->bucket, allowed);
    if (allowed < rest) {
        flow->swallowed = done + allowed;
        flow->rate_paused = 1;
        return CURL_WRITEFUNC_PAUSE;
    }
    return length;
}

// libcurl calls with at most CURL_MAX_WRITE_SIZE bytes, for every buffer size. After
// CURL_WRITEFUNC_PAUSE it keeps the piece and hands the same bytes over again from the same start.
size_t lh_flow_body(char *data, size_t size, size_t count, void *opaque) {
    lh_flow *flow = opaque;
    size_t taken = flow->drained ? size * count : pass(flow, data, size * count);
    flow->paused = taken == CURL_WRITEFUNC_PAUSE;
    // A slow disk may have blocked this call; that time does not count in `progressed`.
    flow->asked_in = 0;
    return taken;
}

// MARK: uploads

static size_t ignore(char *data, size_t size, size_t count, void *opaque) {
    (void)data;
    (void)opaque;
    return size * count;
}

void lh_flow_ignore_body(CURL *easy) {
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore);
}

static int64_t nanoseconds(struct timespec time) {
    return time.tv_sec * second + time.tv_nsec;
}

// The file is looked at after each piece that was read and before it is sent: a body that was sent
// whole is one version.
static int is_pinned_version(const lh_flow *flow) {
    const lh_upload *upload = &flow->upload;
    if (!upload->is_pinned)
        return 1;
    struct stat facts;
    return fstat(flow->fd, &facts) == 0 && facts.st_size == upload->size
        && nanoseconds(facts.st_mtim) == upload->modified
        && nanoseconds(facts.st_ctim) == upload->changed;
}

// A large file that is sent once is of no use in the page cache.
static void give_back_cache(lh_flow *flow, int64_t offset) {
    const int64_t large = 64 << 20, piece = 8 << 20;
    lh_upload *upload = &flow->upload;
    if (upload->file_end - upload->file_start < large || offset - upload->dropped < piece)
        return;
    posix_fadvise(flow->fd, upload->dropped, offset - upload->dropped, POSIX_FADV_DONTNEED);
    upload->dropped = offset;
}

// Returns 0 when the file has changed or cannot be read.
static int read_file(lh_flow *flow, char *buffer, size_t length, int64_t offset) {
    size_t done = 0;
    while (done < length) {
        ssize_t got = pread(flow->fd, buffer + done, length - done, offset + (int64_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            flow->disk_errno = errno;
            flow->outcome = LH_FLOW_DISK;
            return 0;
        }
        if (got == 0) {
            flow->outcome = LH_FLOW_SOURCE_CHANGED;
            return 0;
        }
        done += (size_t)got;
    }
    if (!is_pinned_version(flow)) {
        flow->outcome = LH_FLOW_SOURCE_CHANGED;
        return 0;
    }
    give_back_cache(flow, offset + (int64_t)length);
    return 1;
}

static int64_t upload_length(const lh_upload *upload) {
    return (int64_t)upload->before_length + (upload->file_end - upload->file_start)
        + (int64_t)upload->after_length;
}

// At most `length` bytes of one of the three pieces. 0 = it failed; `outcome` has the reason.
static size_t read_piece(lh_flow *flow, char *buffer, size_t length) {
    lh_upload *upload = &flow->upload;
    int64_t at = upload->position;
    if (at < (int64_t)upload->before_length) {
        size_t part = least(length, (int64_t)upload->before_length - at);
        memcpy(buffer, upload->before + at, part);
        return part;
    }
    at -= (int64_t)upload->before_length;
    int64_t count = upload->file_end - upload->file_start;
    if (at < count) {
        size_t part = least(length, count - at);
        return read_file(flow, buffer, part, upload->file_start + at) ? part : 0;
    }
    at -= count;
    size_t part = least(length, (int64_t)upload->after_length - at);
    memcpy(buffer, upload->after + at, part);
    return part;
}

size_t lh_flow_read(char *buffer, size_t size, size_t count, void *opaque) {
    lh_flow *flow = opaque;
    lh_upload *upload = &flow->upload;
    if (flow->outcome != LH_FLOW_FINE)
        return CURL_READFUNC_ABORT;
    size_t room = least(size * count, upload_length(upload) - upload->position);
    if (room == 0)
        return 0;
    size_t allowed = lh_budget_take(flow->turn->budget, lh_bucket_allows(&flow->bucket, room));
    if (allowed == 0) {
        flow->rate_paused = 1;
        return CURL_READFUNC_PAUSE;
    }
    size_t got = read_piece(flow, buffer, allowed);
    lh_budget_return(flow->turn->budget, allowed - got);
    if (got == 0)
        return CURL_READFUNC_ABORT;
    lh_bucket_take(&flow->bucket, got);
    upload->position += (int64_t)got;
    flow->touched = flow->turn->now;
    if (upload->position > upload->sent) {
        uint64_t more = (uint64_t)(upload->position - upload->sent);
        upload->sent = upload->position;
        cell_add(flow->segment_cell, cell_received, more);
        cell_add(flow->fetch_cell, cell_received, more);
        if (flow->notice_every > 0 && upload->sent >= flow->notice_at) {
            flow->notice_at = upload->sent + flow->notice_every;
            flow->noticed = 1;
            flow->turn->notices++;
        }
    }
    return got;
}

// libcurl sends a request again when the connection that it reused turned out to be dead.
static int seek_upload(void *opaque, curl_off_t offset, int origin) {
    lh_flow *flow = opaque;
    const int64_t small = 1 << 20;
    lh_upload *upload = &flow->upload;
    offset -= upload->base;
    if (origin != SEEK_SET || offset < 0 || offset > upload_length(upload))
        return CURL_SEEKFUNC_FAIL;
    if (upload->sent > (upload->may_repeat ? small : 0))
        return CURL_SEEKFUNC_FAIL;
    flow->upload.position = offset;
    return CURL_SEEKFUNC_OK;
}

static uint8_t *copy_of(const uint8_t *bytes, size_t length) {
    uint8_t *copy = malloc(length ? length : 1);
    if (copy && length)
        memcpy(copy, bytes, length);
    return copy;
}

int lh_flow_send(
    lh_flow *flow, CURL *easy, const uint8_t *before, size_t before_length, const uint8_t *after,
    size_t after_length) {
    lh_upload *upload = &flow->upload;
    upload->before = copy_of(before, before_length);
    upload->after = copy_of(after, after_length);
    if (!upload->before || !upload->after)
        return -ENOMEM;
    upload->before_length = before_length;
    upload->after_length = after_length;
    upload->dropped = upload->file_start;
    if (upload->file_end > upload->file_start)
        posix_fadvise(flow->fd, upload->file_start, 0, POSIX_FADV_SEQUENTIAL);
    curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)(upload->base + upload_length(upload)));
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, 512L << 10);
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, lh_flow_read);
    curl_easy_setopt(easy, CURLOPT_READDATA, flow);
    curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, seek_upload);
    curl_easy_setopt(easy, CURLOPT_SEEKDATA, flow);
    return 0;
}
