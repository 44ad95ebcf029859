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
    char name[16];
} lh_link;

// An address with a scope wider than the link.
typedef struct lh_address {
    int link;
    int is_ipv6;
    int prefix_bits;
    int is_deprecated;  // still valid, but of a network that was left or renumbered
    unsigned char bytes[16];
} lh_address;

typedef struct lh_default_route {
    int link;
    int is_ipv6;
    uint32_t metric;
} lh_default_route;

// The way that the kernel takes to the outside, by the rules of all its tables.
typedef struct lh_outward_route {
    int link;  // 0 = unknown
    int has_gateway;
    unsigned char gateway[16];
} lh_outward_route;

// Capacities before, counts after lh_route_read(); entries that do not fit are left out.
typedef struct lh_network {
    lh_link *links;
    size_t link_count;
    lh_address *addresses;
    size_t address_count;
    lh_default_route *routes;
    size_t route_count;
    lh_outward_route outward[2];  // IPv4, IPv6
} lh_network;

// The hardware address of a neighbour over a link, IPv4 or IPv6 by `is_ipv6`. Its length; 0 = it is
// not known.
enum { lh_hardware_bytes = 32 };
int lh_neighbour_read(
    int link, int is_ipv6, const unsigned char *address, unsigned char *hardware);
// Sends an empty datagram to the discard port (RFC 863), so that the kernel asks for the hardware
// address.
void lh_neighbour_ask(int link, int is_ipv6, const unsigned char *address);

// A socket that receives changes of links, addresses, routes and routing rules.
int lh_route_watch(void);
// Reads all pending messages. 1 if one of them may change the result of lh_route_read(), else 0.
int lh_route_watch_take(int descriptor);
// -EINTR: the tables change too fast to be read.
int lh_route_read(lh_network *network);

// A socket that receives changes of devices.
int lh_uevent_watch(void);
// Reads all pending messages. 1 if one of them concerns `subsystem`, else 0.
int lh_uevent_watch_take(int descriptor, const char *subsystem);
#endif
