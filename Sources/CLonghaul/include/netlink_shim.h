#ifndef LONGHAUL_NETLINK_SHIM_H
#define LONGHAUL_NETLINK_SHIM_H
// What the kernel says about devices and the network (netlink(7), rtnetlink(7)). Functions answer
// with their result, or with -errno.
#include <stddef.h>
#include <stdint.h>

typedef struct lh_link {
    int index;
    int is_up;  // switched on, with a carrier
    int is_loopback;
    int is_bridge;
    int is_point_to_point;
    int has_address;  // one that reaches beyond the link
    char name[16];
} lh_link;

typedef struct lh_default_route {
    int link;
    int is_ipv6;
    uint32_t metric;
} lh_default_route;

// A socket that is told of changes of links, addresses and routes.
int lh_route_watch(void);
// Takes all that was told. 1 when some of it may change what lh_route_read() finds, else 0.
int lh_route_watch_take(int descriptor);
// Fills the arrays and sets the counts; what does not fit is left out. -EINTR: the tables change too
// fast to be read.
int lh_route_read(
    lh_link *links, size_t *link_count, lh_default_route *routes, size_t *route_count);

// A socket that is told of changes of devices.
int lh_uevent_watch(void);
// Takes all that was told. 1 when some of it is about `subsystem`, else 0.
int lh_uevent_watch_take(int descriptor, const char *subsystem);
#endif
