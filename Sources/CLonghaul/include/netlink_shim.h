#ifndef LONGHAUL_NETLINK_SHIM_H
#define LONGHAUL_NETLINK_SHIM_H
// The kernel's view of devices and the network (netlink(7), rtnetlink(7)). Functions return their
// result, or -errno.
#include <stddef.h>
#include <stdint.h>

typedef struct lh_link {
    int index;
    int is_up;  // switched on, with a carrier
    int is_loopback;
    int is_bridge;
    int is_point_to_point;
    int has_address;  // one with a scope wider than the link
    char name[16];
} lh_link;

typedef struct lh_default_route {
    int link;
    int is_ipv6;
    uint32_t metric;
} lh_default_route;

// A socket that receives changes of links, addresses and routes.
int lh_route_watch(void);
// Reads all pending messages. 1 if one of them may change the result of lh_route_read(), else 0.
int lh_route_watch_take(int descriptor);
// Fills the arrays and sets the counts; entries that do not fit are left out. -EINTR: the tables
// change too fast to be read.
int lh_route_read(
    lh_link *links, size_t *link_count, lh_default_route *routes, size_t *route_count);

// A socket that receives changes of devices.
int lh_uevent_watch(void);
// Reads all pending messages. 1 if one of them concerns `subsystem`, else 0.
int lh_uevent_watch_take(int descriptor, const char *subsystem);
#endif
