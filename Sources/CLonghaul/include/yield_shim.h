#ifndef LONGHAUL_YIELD_SHIM_H
#define LONGHAUL_YIELD_SHIM_H
// Connections that yield to other traffic: libcurl's socket callbacks, which record every socket
// from its creation to its end, and the TCP options that reduce its share.
#include "CLibcurl.h"
#include "flow_shim.h"
#include <stddef.h>
#include <stdint.h>

typedef struct lh_socket {
    int fd;
    uint64_t cookie;   // SO_COOKIE: shows that the number was reused for another socket
    int is_loopback;   // does not yield: it shares no link
    int is_gated;
    int saved_buffer;  // SO_RCVBUF before the gate
    int window;        // the clamp as last set; 0 = never
    int held;          // to this many bytes under way; 0 = to none
} lh_socket;

// A set of connections, which requests outside of it never use. Used on one thread; outlives every
// handle that it was given to, and the multi handle.
typedef struct lh_pool {
    CURLSH *share;  // NULL = the multi handle's own connections
    lh_budget *budget;
    int is_marked;  // Lower Effort (RFC 8622)
    lh_socket *sockets;
    size_t count;
    size_t capacity;
} lh_pool;

// NULL = no memory. `is_shared`: its connections are not the multi handle's own.
lh_pool *lh_pool_new(lh_budget *budget, int is_shared, int is_marked);
// Closes the pool's connections. To be called when all handles that used it are gone.
void lh_pool_free(lh_pool *pool);
// Makes a handle that is not running use this pool, for a request to this site; not 0.
void lh_pool_use(lh_pool *pool, lh_flow *flow, uint64_t site);
// Makes a handle that is not running use none.
void lh_pool_leave(CURL *easy);

// State of a connection in one direction.
typedef struct lh_tcp_side {
    uint32_t round_trip;  // microseconds; 0 = unknown
    uint32_t lost;        // packets that came out of order, or were sent again
    uint32_t segment;     // bytes of a full packet
    uint64_t bytes;       // that came, or were acknowledged
} lh_tcp_side;

typedef struct lh_tcp_sample {
    lh_tcp_side in;
    lh_tcp_side out;
} lh_tcp_sample;

// 0, or -errno: -EBADF if the descriptor is now another socket, -ENOTCONN before it is connected.
int lh_socket_sample(const lh_socket *socket, lh_tcp_sample *sample);
// The socket's own port in host byte order, 0 before it has one; or -errno.
int lh_local_port(int fd);
// The bytes received on a connection so far, and the milliseconds since the latest. 0, or -errno:
// -EBADF if the socket's local port is not `port`.
int lh_tcp_heard(int fd, uint16_t port, uint64_t *received, uint32_t *silent);
// Moves the advertised window towards this many bytes. TCP does not shrink a window that it has
// advertised (RFC 9293 §3.8.6): a smaller one takes effect as data comes in.
int lh_socket_clamp(lh_socket *socket, int window);
// While gated the socket accepts about a packet more than was read from it, so that a slow reader
// slows its sender down.
void lh_socket_gate(lh_socket *socket, int on);
// Lets about this many bytes be under way or wait to be sent; INT_MAX = as many as TCP likes.
void lh_socket_hold(lh_socket *socket, int window);
#endif
