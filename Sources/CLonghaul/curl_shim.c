#define _GNU_SOURCE
#include "curl_shim.h"
#include "yield_shim.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// MARK: setopt and getinfo

CURLcode lh_easy_setopt_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode lh_easy_setopt_off_t(CURL *easy, CURLoption option, int64_t value) {
    return curl_easy_setopt(easy, option, (curl_off_t)value);
}

CURLcode lh_easy_setopt_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode lh_easy_setopt_ptr(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode lh_easy_setopt_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}

CURLMcode lh_multi_setopt_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

long lh_easy_getinfo_long(CURL *easy, CURLINFO info) {
    long value = 0;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

int64_t lh_easy_getinfo_off_t(CURL *easy, CURLINFO info) {
    curl_off_t value = -1;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? (int64_t)value : -1;
}

void *lh_easy_getinfo_private(CURL *easy) {
    void *value = NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &value);
    return value;
}

int lh_easy_has_agreed_on_http2(CURL *easy) {
    typedef void (*selected_t)(const void *, const unsigned char **, unsigned *);
    static selected_t selected;
    struct curl_tlssessioninfo *session = NULL;
    if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || !session
        || session->backend != CURLSSLBACKEND_OPENSSL || !session->internals)
        return -1;
    selected_t ask = __atomic_load_n(&selected, __ATOMIC_RELAXED);
    if (!ask) {
        ask = (selected_t)lh_curl_symbol("SSL_get0_alpn_selected");
        if (!ask)
            return -1;
        __atomic_store_n(&selected, ask, __ATOMIC_RELAXED);
    }
    const unsigned char *name = NULL;
    unsigned length = 0;
    ask(session->internals, &name, &length);
    return length == 2 && memcmp(name, "h2", 2) == 0;
}

curl_socket_t lh_easy_getinfo_socket(CURL *easy) {
    curl_socket_t value = CURL_SOCKET_BAD;
    curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &value);
    return value;
}

// True if bind(2) accepts addresses that no interface has (ip_nonlocal_bind).
static int binds_any(int is_v4) {
    int fd = open(
        is_v4 ? "/proc/sys/net/ipv4/ip_nonlocal_bind" : "/proc/sys/net/ipv6/ip_nonlocal_bind",
        O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    char digit = '0';
    ssize_t got = read(fd, &digit, 1);
    close(fd);
    return got == 1 && digit != '0';
}

// Whether no interface has the address.
static int is_foreign(int family, const void *address, size_t size) {
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) != 0)
        return 0;
    int is_found = 0;
    for (struct ifaddrs *one = all; one && !is_found; one = one->ifa_next) {
        if (!one->ifa_addr || one->ifa_addr->sa_family != family)
            continue;
        const void *own = family == AF_INET
            ? (const void *)&((struct sockaddr_in *)one->ifa_addr)->sin_addr
            : (const void *)&((struct sockaddr_in6 *)one->ifa_addr)->sin6_addr;
        is_found = memcmp(own, address, size) == 0;
    }
    freeifaddrs(all);
    return !is_found;
}

int lh_easy_has_lost_address(CURL *easy) {
    char *text = NULL;
    if (curl_easy_getinfo(easy, CURLINFO_LOCAL_IP, &text) != CURLE_OK || !text)
        return 0;
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    int is_v4 = inet_pton(AF_INET, text, &v4.sin_addr) == 1;
    if (!is_v4 && inet_pton(AF_INET6, text, &v6.sin6_addr) != 1)
        return 0;
    int fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    // A link-local IPv6 address cannot be bound without its scope: EINVAL, so it counts as present.
    int answer = is_v4 ? bind(fd, (struct sockaddr *)&v4, sizeof v4)
                       : bind(fd, (struct sockaddr *)&v6, sizeof v6);
    int is_lost = answer != 0 && errno == EADDRNOTAVAIL;
    close(fd);
    if (answer == 0 && binds_any(is_v4))
        is_lost = is_v4 ? is_foreign(AF_INET, &v4.sin_addr, sizeof v4.sin_addr)
                        : is_foreign(AF_INET6, &v6.sin6_addr, sizeof v6.sin6_addr);
    return is_lost;
}

const curl_version_info_data *lh_version_info(void) {
    return curl_version_info(CURLVERSION_NOW);
}

const long lh_auth_basic = (long)CURLAUTH_BASIC;


CURL *lh_multi_next_done(CURLM *multi, CURLcode *code) {
    int left = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE)
            continue;
        *code = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}

// MARK: rate

static const int64_t second = 1000000000;

// The capacity is 0.15 s worth of bytes. Over any two seconds at most 7.5 % more than the rate
// passes, and a thread that was not scheduled for a while still reaches the rate.
static int64_t bucket_capacity(const lh_bucket *bucket) {
    int64_t capacity = bucket->rate / 20 * 3;
    return capacity > 0 ? capacity : 1;
}

void lh_bucket_set(lh_bucket *bucket, int64_t rate, int64_t now) {
    bucket->rate = rate;
    bucket->tokens = 0;
    bucket->filled_at = now;
    bucket->remainder = 0;
}

void lh_bucket_fill(lh_bucket *bucket, int64_t now) {
    if (bucket->rate <= 0 || now <= bucket->filled_at)
        return;
    int64_t elapsed = now - bucket->filled_at;
    bucket->filled_at = now;
    int64_t capacity = bucket_capacity(bucket);
    double earned =
        (double)bucket->rate * ((double)elapsed / (double)second) + bucket->remainder;
    if (earned >= (double)(capacity - bucket->tokens)) {
        bucket->tokens = capacity;
        bucket->remainder = 0;
        return;
    }
    int64_t whole = (int64_t)earned;
    bucket->tokens += whole;
    bucket->remainder = earned - (double)whole;
}

// The fewest tokens for which a paused request is resumed.
static int64_t quantum_of(const lh_bucket *bucket) {
    int64_t quantum = bucket->rate / 50;
    return quantum > 0 ? quantum : 1;
}

int64_t lh_bucket_wait(const lh_bucket *bucket) {
    int64_t missing = quantum_of(bucket) - bucket->tokens;
    if (bucket->rate <= 0 || missing <= 0)
        return 0;
    double wait = ((double)missing - bucket->remainder) / (double)bucket->rate * (double)second;
    return (int64_t)wait + 1;
}

static size_t bucket_allows(const lh_bucket *bucket, size_t wanted) {
    if (bucket->rate <= 0)
        return wanted;
    if (bucket->tokens <= 0)
        return 0;
    return (uint64_t)bucket->tokens < wanted ? (size_t)bucket->tokens : wanted;
}

static void bucket_take(lh_bucket *bucket, size_t taken) {
    if (bucket->rate > 0)
        bucket->tokens -= (int64_t)taken;
}

// MARK: head

void lh_flow_reset(lh_flow *flow) {
    char *head = flow->head;
    size_t capacity = flow->head_capacity;
    memset(flow, 0, sizeof *flow);
    flow->head = head;
    flow->head_capacity = capacity;
    flow->fd = -1;
    flow->socket = -1;
    flow->end = -1;
    flow->stop_at = -1;
}

void lh_flow_free_head(lh_flow *flow) {
    free(flow->head);
    flow->head = NULL;
    flow->head_capacity = 0;
    flow->head_length = 0;
}

// Before this call the request waits within libcurl, for a connection that other requests use.
static void begin(lh_flow *flow) {
    if (flow->begun)
        return;
    flow->begun = 1;
    flow->touched = flow->turn->now;
}

static void connects(lh_flow *flow) {
    if (!flow->has_data_sockets)
        flow->connected = 0;
    begin(flow);
}

static int resolver_start(void *resolver, void *reserved, void *opaque) {
    (void)resolver;
    (void)reserved;
    lh_flow *flow = opaque;
    connects(flow);
    return 0;
}

static int socket_made(void *opaque, curl_socket_t fd, curlsocktype purpose) {
    (void)purpose;
    lh_flow *flow = opaque;
    flow->socket = fd;
    flow->cookie = lh_socket_cookie(fd);
    connects(flow);
    return CURL_SOCKOPT_OK;
}

static int before_request(
    void *opaque, char *remote, char *local, int remote_port, int local_port) {
    (void)remote;
    (void)local;
    (void)remote_port;
    (void)local_port;
    lh_flow *flow = opaque;
    flow->connected = 1;
    begin(flow);
    return flow->admits(flow->owner) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

void lh_flow_attach(lh_flow *flow, CURL *easy) {
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, lh_flow_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, flow);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, lh_flow_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, flow);
    curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, resolver_start);
    curl_easy_setopt(easy, CURLOPT_RESOLVER_START_DATA, flow);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, socket_made);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, flow);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, before_request);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, flow);
}

static int head_append(lh_flow *flow, const char *data, size_t length) {
    size_t needed = flow->head_length + length;
    if (needed > flow->head_limit) {
        flow->outcome = LH_FLOW_HEAD_TOO_LARGE;
        return 0;
    }
    if (needed > flow->head_capacity) {
        size_t capacity = flow->head_capacity ? flow->head_capacity : 1024;
        while (capacity < needed)
            capacity *= 2;
        char *grown = realloc(flow->head, capacity);
        if (!grown)
            return 0;
        flow->head = grown;
        flow->head_capacity = capacity;
    }
    memcpy(flow->head + flow->head_length, data, length);
    flow->head_length = needed;
    return 1;
}

// "HTTP/1.1 206 …" and "HTTP/2 206 ": the number after the first space.
static int status_of(const char *line, size_t length) {
    const char *space = memchr(line, ' ', length);
    if (!space || line + length - space < 4)
        return 0;
    int status = 0;
    for (int i = 1; i <= 3; i++) {
        if (space[i] < '0' || space[i] > '9')
            return 0;
        status = status * 10 + (space[i] - '0');
    }
    return status;
}

// A reply of several lines ends with the one that has a blank after its number (RFC 959 §4.2).
static void keep_reply(lh_flow *flow, const char *line, size_t length) {
    if (flow->reply_complete)
        flow->reply_length = 0;
    size_t room = sizeof flow->reply - flow->reply_length;
    size_t part = length < room ? length : room;
    memcpy(flow->reply + flow->reply_length, line, part);
    flow->reply_length += part;
    flow->reply_complete = length >= 4 && line[0] >= '1' && line[0] <= '5' && line[3] == ' ';
}

// Trailer fields and FTP's later replies are not used, but libcurl keeps all trailer fields.
static size_t count_after_head(lh_flow *flow, size_t length) {
    flow->after_head += length;
    if (flow->after_head <= flow->head_limit)
        return length;
    flow->outcome = LH_FLOW_HEAD_TOO_LARGE;
    return 0;
}

// libcurl hands over one whole line per call. Interim answers and authentication rounds come here
// too, each beginning with a status line. So do trailer fields after a chunked body, and FTP's
// reply lines.
size_t lh_flow_header(char *data, size_t size, size_t count, void *opaque) {
    lh_flow *flow = opaque;
    size_t length = size * count;
    flow->heard = flow->turn->now;
    if (flow->state != LH_FLOW_UNJUDGED)
        return count_after_head(flow, length);
    if (length >= 5 && memcmp(data, "HTTP/", 5) == 0) {
        flow->head_length = 0;
        flow->head_complete = 0;
        flow->head_status = status_of(data, length);
        flow->touched = flow->turn->now;
    } else if (flow->head_length == 0) {
        keep_reply(flow, data, length);
        return length;
    } else if (flow->head_complete) {
        return count_after_head(flow, length);
    }
    if (!head_append(flow, data, length))
        return 0;
    if (length <= 2 && data[length - 1] == '\n' && (length == 1 || data[0] == '\r')) {
        flow->head_complete = flow->head_status >= 200;
        flow->touched = flow->turn->now;
    }
    return length;
}

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

static int write_all(lh_flow *flow, const char *data, size_t length) {
    int64_t begun = monotonic();
    while (length > 0) {
        ssize_t put = pwrite(flow->fd, data, length, flow->position);
        if (put < 0) {
            if (errno == EINTR)
                continue;
            flow->disk_errno = errno;
            flow->outcome = LH_FLOW_DISK;
            return 0;
        }
        if (put == 0) {
            flow->disk_errno = EIO;
            flow->outcome = LH_FLOW_DISK;
            return 0;
        }
        data += put;
        length -= (size_t)put;
        flow->position += put;
        flow->written += put;
        if (flow->segment_cell)
            __atomic_store_n(
                &flow->segment_cell[cell_written], (uint64_t)flow->position, __ATOMIC_RELAXED);
    }
    rest_after(flow, begun);
    if (flow->notice_every > 0 && flow->written >= flow->notice_at) {
        flow->notice_at = flow->written + flow->notice_every;
        flow->noticed = 1;
        flow->turn->notices++;
    }
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
    if (!write_all(flow, data, part))
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
    case LH_FLOW_UNJUDGED:
        return CURL_WRITEFUNC_ERROR;
    }
    if (flow->rests_until)
        return CURL_WRITEFUNC_PAUSE;
    size_t done = flow->swallowed;
    flow->swallowed = 0;
    size_t rest = length - done;
    size_t allowed = bucket_allows(&flow->turn->total, bucket_allows(&flow->bucket, rest));
    if (allowed > 0 && !take(flow, data + done, allowed))
        return CURL_WRITEFUNC_ERROR;
    bucket_take(&flow->bucket, allowed);
    bucket_take(&flow->turn->total, allowed);
    if (allowed < rest) {
        flow->swallowed = done + allowed;
        flow->rate_paused = 1;
        return CURL_WRITEFUNC_PAUSE;
    }
    return length;
}

// libcurl calls with at most CURL_MAX_WRITE_SIZE bytes, whatever its buffer size. After
// CURL_WRITEFUNC_PAUSE it keeps the piece and hands the same bytes over again from the same start.
size_t lh_flow_body(char *data, size_t size, size_t count, void *opaque) {
    lh_flow *flow = opaque;
    size_t taken = flow->drained ? size * count : pass(flow, data, size * count);
    flow->paused = taken == CURL_WRITEFUNC_PAUSE;
    // A slow disk may have blocked this call; that time does not count in `progressed`.
    flow->asked_in = 0;
    return taken;
}
