#ifndef LONGHAUL_BUDGET_SHIM_H
#define LONGHAUL_BUDGET_SHIM_H
// Budget that all transports of an engine share: the rate, and the connections, which are counted
// here by their sockets. libcurl 8.13 to 8.21 bounds no connections of a share, and no libcurl
// bounds connections of several shares or threads together.
#include <stddef.h>
#include <stdint.h>

// MARK: rate

// A token bucket in bytes. `rate` 0 = unlimited.
typedef struct lh_bucket {
    int64_t rate;       // bytes per second
    int64_t tokens;     // bytes that may be taken now
    int64_t filled_at;  // monotonic nanoseconds
    double remainder;   // fraction of a byte carried over
} lh_bucket;

// Sets a new rate and drops the tokens saved under the old one.
void lh_bucket_set(lh_bucket *bucket, int64_t rate, int64_t now);
// Adds the tokens earned since the last fill, up to a small capacity, so that no burst follows a
// longer pause. The kernel does not run ahead either: it enlarges a socket's receive buffer by how
// fast the program reads (tcp_rcv_space_adjust), and a limited request reads slowly.
void lh_bucket_fill(lh_bucket *bucket, int64_t now);
// Nanoseconds until there are enough tokens to resume a paused request; 0 = now.
int64_t lh_bucket_wait(const lh_bucket *bucket);
// At most `wanted`: the bytes that may be taken now.
size_t lh_bucket_allows(const lh_bucket *bucket, size_t wanted);
void lh_bucket_take(lh_bucket *bucket, size_t taken);

// MARK: budget

// May be used on any thread.
typedef struct lh_budget lh_budget;

// NULL = no memory.
lh_budget *lh_budget_new(void);
// To be called when no transport uses it any more.
void lh_budget_free(lh_budget *budget);

// The rate of all transports together: as the functions of a bucket.
void lh_budget_set_rate(lh_budget *budget, int64_t rate, int64_t now);
int64_t lh_budget_rate(const lh_budget *budget);
void lh_budget_fill(lh_budget *budget, int64_t now);
int64_t lh_budget_wait(lh_budget *budget);
// Takes at most `wanted` bytes, and returns how many.
size_t lh_budget_take(lh_budget *budget, size_t wanted);
// Gives back unused tokens.
void lh_budget_return(lh_budget *budget, size_t unused);

// Bounds the connections to one site, and those to all of them together.
void lh_budget_bound(lh_budget *budget, size_t per_site, size_t in_all);
// Makes a socket for a connection of `user` to the site, non-zero. If there are too many, an idle
// connection is shut down in its place: to the same site, or to any if there are too many in all.
// Returns the socket; -1 with `errno` EBUSY if none is idle, or with that of socket(2). A
// connection may take several sockets at a time, for its addresses: it counts once.
int lh_budget_open(
    lh_budget *budget, uint64_t site, const void *user, int family, int type, int protocol);
// Before a request goes over the connection with this local port: libcurl does not report the
// socket of one that is in use. From here on it is counted for this site. Returns 0 if the
// connection was shut down by `lh_budget_open`, or was another site's and this one has enough; else
// `held` is the argument for `lh_budget_leave`.
int lh_budget_use(lh_budget *budget, uint64_t site, uint16_t port, uint64_t *held);
// `user` makes no connection any more, and does not use the one that it holds; 0 = none.
void lh_budget_leave(lh_budget *budget, const void *user, uint64_t held);
// To be called before the socket is closed.
void lh_budget_forget(lh_budget *budget, int fd);

// SO_COOKIE, which differs from that of a later socket of the same number; 0 = no socket.
uint64_t lh_socket_cookie(int fd);
#endif
