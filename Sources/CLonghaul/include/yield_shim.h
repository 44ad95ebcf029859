#ifndef LONGHAUL_YIELD_SHIM_H
#define LONGHAUL_YIELD_SHIM_H
// Connections that stand back: libcurl's socket callbacks, which must know every socket from its
// first to its last moment, and the TCP options that make it yield.
#include "CLibcurl.h"
#include <stddef.h>
#include <stdint.h>

typedef struct lh_socket {
    int fd;
    uint64_t cookie;   // SO_COOKIE: a number that is used again names another socket
    int is_loopback;   // no line to share
    int is_gated;
    int saved_buffer;  // SO_RCVBUF before the gate
    int window;        // the clamp as last set; 0 = never
} lh_socket;

// A set of connections of their own: what is in it is never used by requests outside of it. Used on
// one thread; outlives every handle that it was given to.
typedef struct lh_pool {
    CURLSH *share;
    lh_socket *sockets;
    size_t count;
    size_t capacity;
} lh_pool;

// Tells a socket from another that has its number later; 0 = it is none.
uint64_t lh_socket_cookie(int fd);

// NULL = no memory.
lh_pool *lh_pool_new(void);
// After all handles that used it are gone: closes its connections.
void lh_pool_free(lh_pool *pool);
// Makes a handle that is not on the wire use this pool; NULL = the multi handle's own connections.
void lh_pool_use(lh_pool *pool, CURL *easy);

typedef struct lh_tcp_sample {
    uint32_t round_trip;    // microseconds, as the receiver sees it; 0 = unknown
    uint32_t out_of_order;  // packets
    uint32_t segment;       // bytes of a full packet
    uint64_t received;      // bytes
} lh_tcp_sample;

// 0, or -errno: -EBADF for a socket that is no longer the one that was opened, -ENOTCONN before it
// is connected.
int lh_socket_sample(const lh_socket *socket, lh_tcp_sample *sample);
// What has come on a connection so far, in bytes, and how long ago the last of it did, in
// milliseconds. 0, or -errno: -EBADF if it is not the one from this port.
int lh_tcp_heard(int fd, uint16_t port, uint64_t *received, uint32_t *silent);
// Moves the window that is advertised to the sender towards this many bytes. What was advertised is
// never taken back (RFC 9293 §3.8.6): a smaller one takes effect as data comes in.
int lh_socket_clamp(lh_socket *socket, int window);
// While gated the socket takes in about a packet more than was read from it, so that who reads
// slowly receives slowly.
void lh_socket_gate(lh_socket *socket, int on);
#endif
