#define _GNU_SOURCE
#include "yield_shim.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_BUF_LOCK
#define SO_BUF_LOCK 72
#endif

// Lower Effort: DSCP 1, above the two ECN bits (RFC 8622).
static const int lower_effort = 1 << 2;

// MARK: sockets

static int is_loopback(const struct curl_sockaddr *address) {
    if (address->family == AF_INET && address->addrlen >= sizeof(struct sockaddr_in)) {
        struct sockaddr_in in;
        memcpy(&in, &address->addr, sizeof in);
        return ntohl(in.sin_addr.s_addr) >> 24 == 127;
    }
    if (address->family == AF_INET6 && address->addrlen >= sizeof(struct sockaddr_in6)) {
        struct sockaddr_in6 in;
        memcpy(&in, &address->addr, sizeof in);
        return IN6_IS_ADDR_LOOPBACK(&in.sin6_addr);
    }
    return 0;
}

static void forget(lh_pool *pool, int fd) {
    for (size_t i = 0; i < pool->count; i++)
        if (pool->sockets[i].fd == fd)
            pool->sockets[i--] = pool->sockets[--pool->count];
}

// If memory runs out, the socket is not recorded: it still transfers, but does not yield.
static void remember(lh_pool *pool, int fd, const struct curl_sockaddr *address) {
    forget(pool, fd);
    if (pool->count == pool->capacity) {
        size_t capacity = pool->capacity ? pool->capacity * 2 : 16;
        lh_socket *grown = realloc(pool->sockets, capacity * sizeof *grown);
        if (!grown)
            return;
        pool->sockets = grown;
        pool->capacity = capacity;
    }
    pool->sockets[pool->count++] =
        (lh_socket){.fd = fd, .cookie = lh_socket_cookie(fd), .is_loopback = is_loopback(address)};
}

static void mark(int fd, int family) {
    if (family == AF_INET)
        setsockopt(fd, IPPROTO_IP, IP_TOS, &lower_effort, sizeof lower_effort);
    else if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &lower_effort, sizeof lower_effort);
}

static curl_socket_t open_socket(void *opaque, curlsocktype purpose, struct curl_sockaddr *address) {
    (void)purpose;
    lh_flow *flow = opaque;
    if (!lh_flow_may_reach(flow, &address->addr))
        return CURL_SOCKET_BAD;
    // FTP's data belong to the connection that the request has.
    int is_data = flow->has_data_sockets && flow->connected;
    int fd = is_data
        ? socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol)
        : lh_budget_open(flow->turn->budget, flow->site, flow, address->family, address->socktype,
                         address->protocol);
    if (fd < 0) {
        flow->is_crowded = !is_data && errno == EBUSY;
        return CURL_SOCKET_BAD;
    }
    if (flow->pool->is_marked)
        mark(fd, address->family);
    remember(flow->pool, fd, address);
    return fd;
}

static int close_socket(void *opaque, curl_socket_t fd) {
    lh_pool *pool = opaque;
    forget(pool, fd);
    lh_budget_forget(pool->budget, fd);
    return close(fd);
}

// MARK: pool

lh_pool *lh_pool_new(lh_budget *budget, int is_shared, int is_marked) {
    lh_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pool->budget = budget;
    pool->is_marked = is_marked;
    if (!is_shared)
        return pool;
    pool->share = curl_share_init();
    if (!pool->share
        || curl_share_setopt(pool->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_CONNECT) != CURLSHE_OK) {
        lh_pool_free(pool);
        return NULL;
    }
    return pool;
}

void lh_pool_free(lh_pool *pool) {
    if (!pool)
        return;
    // Calls close_socket for connections that are still open.
    if (pool->share)
        curl_share_cleanup(pool->share);
    free(pool->sockets);
    free(pool);
}

void lh_pool_use(lh_pool *pool, lh_flow *flow, uint64_t site) {
    flow->pool = pool;
    flow->site = site;
    curl_easy_setopt(flow->easy, CURLOPT_SHARE, pool->share);
    curl_easy_setopt(flow->easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(flow->easy, CURLOPT_OPENSOCKETDATA, flow);
    // libcurl stores this callback in the connection, and calls it for as long as that lives.
    curl_easy_setopt(flow->easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    curl_easy_setopt(flow->easy, CURLOPT_CLOSESOCKETDATA, pool);
}

void lh_pool_leave(CURL *easy) {
    curl_easy_setopt(easy, CURLOPT_SHARE, NULL);
}

// MARK: TCP

static int info_of(int fd, struct tcp_info *info) {
    socklen_t length = sizeof *info;
    memset(info, 0, sizeof *info);
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &length) == 0 ? 0 : -errno;
}

int lh_socket_sample(const lh_socket *socket, lh_tcp_sample *sample) {
    if (lh_socket_cookie(socket->fd) != socket->cookie)
        return -EBADF;
    struct tcp_info info;
    int failed = info_of(socket->fd, &info);
    if (failed)
        return failed;
    enum { established = 1, close_wait = 8 };
    if (info.tcpi_state != established && info.tcpi_state != close_wait)
        return -ENOTCONN;
    sample->in = (lh_tcp_side){
        .round_trip = info.tcpi_rcv_rtt,
        .lost = info.tcpi_rcv_ooopack,  // 0 before Linux 5.4
        .segment = info.tcpi_rcv_mss,
        .bytes = info.tcpi_bytes_received,
    };
    sample->out = (lh_tcp_side){
        .round_trip = info.tcpi_rtt,
        .lost = info.tcpi_total_retrans,
        .segment = info.tcpi_snd_mss,
        .bytes = info.tcpi_bytes_acked,
    };
    return 0;
}

int lh_local_port(int fd) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } own;
    socklen_t size = sizeof own;
    if (getsockname(fd, &own.any, &size) != 0)
        return -errno;
    return ntohs(own.any.sa_family == AF_INET6 ? own.v6.sin6_port : own.v4.sin_port);
}

int lh_tcp_heard(int fd, uint16_t port, uint64_t *received, uint32_t *silent) {
    int local = lh_local_port(fd);
    if (local < 0)
        return local;
    if (local != port)
        return -EBADF;
    struct tcp_info info;
    int failed = info_of(fd, &info);
    if (failed)
        return failed;
    *received = info.tcpi_bytes_received;
    *silent = info.tcpi_last_data_recv;
    return 0;
}

// The kernel raises the clamp whenever it enlarges the buffer (tcp_rcv_space_adjust). It is
// therefore set again even if it has not changed.
int lh_socket_clamp(lh_socket *socket, int window) {
    if (setsockopt(socket->fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &window, sizeof window) != 0)
        return -errno;
    socket->window = window;
    return 0;
}

// A smallest window alone admits one or two packets per round trip. That is much where round trips
// are short and the competing sender is modest (BBR). The smallest buffer closes the window until
// the program has read. Setting SO_RCVBUF turns the buffer's tuning off for good, unless
// SO_BUF_LOCK (Linux 5.14) turns it on again; on an older kernel there is no gate.
void lh_socket_gate(lh_socket *socket, int on) {
    int value = 0;
    socklen_t length = sizeof value;
    if (on == socket->is_gated
        || getsockopt(socket->fd, SOL_SOCKET, SO_BUF_LOCK, &value, &length) != 0)
        return;
    socket->is_gated = on;
    if (on) {
        length = sizeof socket->saved_buffer;
        getsockopt(socket->fd, SOL_SOCKET, SO_RCVBUF, &socket->saved_buffer, &length);
        // Room for a few packets. With less, the window would open by so little after each read
        // that the kernel would not advertise it (RFC 9293 §3.8.6.2.2), and only the sender's ever
        // rarer probes would find it.
        value = 8192;
        setsockopt(socket->fd, SOL_SOCKET, SO_RCVBUF, &value, sizeof value);
        return;
    }
    // The kernel doubles the value and bounds it by net.core.rmem_max. From there the buffer grows
    // by itself.
    value = socket->saved_buffer / 2;
    setsockopt(socket->fd, SOL_SOCKET, SO_RCVBUF, &value, sizeof value);
    value = 0;
    setsockopt(socket->fd, SOL_SOCKET, SO_BUF_LOCK, &value, sizeof value);
}

// The send buffer contains bytes in flight, too. A pace would be no window: packets that go out one
// by one are acknowledged late, and their round trips are no queue (RFC 1122 §4.2.3.2). The kernel
// doubles the value for its overhead, and bounds it by net.core.wmem_max (208 KiB as a rule): for
// larger windows its own tuning is turned on again (SO_BUF_LOCK).
void lh_socket_hold(lh_socket *socket, int window) {
    const int most = 192 << 10;
    int value = window < most ? window : 0;
    if (value == socket->held)
        return;
    socket->held = value;
    if (value)
        setsockopt(socket->fd, SOL_SOCKET, SO_SNDBUF, &value, sizeof value);
    else
        setsockopt(socket->fd, SOL_SOCKET, SO_BUF_LOCK, &value, sizeof value);
}
