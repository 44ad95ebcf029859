#define _GNU_SOURCE
#include "netlink_shim.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

// The kernel cuts dumps into pieces of at most 32 KiB (netlink_dump in af_netlink.c).
enum { piece_bytes = 32768 };

// A dump during which the tables changed is repeated, up to this number of attempts.
enum { attempts_max = 3 };

static int netlink_socket(int protocol, unsigned groups, int flags) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | flags, protocol);
    if (descriptor < 0)
        return -errno;
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) < 0) {
        int failure = errno;
        close(descriptor);
        return -failure;
    }
    return descriptor;
}

static ssize_t receive(int descriptor, void *buffer, size_t size) {
    ssize_t got;
    do {
        got = recv(descriptor, buffer, size, 0);
    } while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

// MARK: changes

int lh_route_watch(void) {
    return netlink_socket(
        NETLINK_ROUTE,
        RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE
            | RTMGRP_IPV6_ROUTE | RTMGRP_IPV4_RULE | 1 << (RTNLGRP_IPV6_RULE - 1),
        SOCK_NONBLOCK);
}

// Relevant routes are default routes, and routes to large parts of the Internet, which VPNs use in
// their place: a router may change thousands of others.
enum { large_bits = 8 };

static int matters(const struct nlmsghdr *message) {
    switch (message->nlmsg_type) {
    case RTM_NEWROUTE:
    case RTM_DELROUTE:
        return message->nlmsg_len < NLMSG_LENGTH(sizeof(struct rtmsg))
            || ((const struct rtmsg *)NLMSG_DATA(message))->rtm_dst_len <= large_bits;
    default:
        return 1;
    }
}

int lh_route_watch_take(int descriptor) {
    static __thread char buffer[piece_bytes] __attribute__((aligned(NLMSG_ALIGNTO)));
    int any = 0;
    while (1) {
        ssize_t got = receive(descriptor, buffer, sizeof buffer);
        if (got == -EAGAIN)
            return any;
        // The socket's buffer overflowed and messages were lost: anything may have changed.
        if (got == -ENOBUFS) {
            any = 1;
            continue;
        }
        if (got <= 0)
            return got < 0 ? (int)got : any;
        int length = (int)got;
        for (struct nlmsghdr *message = (struct nlmsghdr *)buffer; NLMSG_OK(message, length);
             message = NLMSG_NEXT(message, length))
            any |= matters(message);
    }
}

// MARK: state

// A neighbour that is looked for.
typedef struct neighbour {
    int link;
    size_t size;
    const unsigned char *address;
    unsigned char *hardware;
    int found;  // bytes of the hardware address
} neighbour;

typedef struct tables {
    lh_network *network;
    size_t link_capacity, address_capacity, route_capacity;
    neighbour *neighbour;
} tables;

static void take_link(tables *tables, const struct nlmsghdr *message) {
    const struct ifinfomsg *info = NLMSG_DATA(message);
    lh_network *network = tables->network;
    if (network->link_count == tables->link_capacity)
        return;
    lh_link *link = &network->links[network->link_count++];
    memset(link, 0, sizeof *link);
    link->index = info->ifi_index;
    link->is_up = (info->ifi_flags & IFF_UP) && (info->ifi_flags & IFF_RUNNING);
    link->is_loopback = (info->ifi_flags & IFF_LOOPBACK) != 0;
    link->is_point_to_point = info->ifi_type == ARPHRD_PPP;
    int length = (int)IFLA_PAYLOAD(message);
    for (struct rtattr *field = IFLA_RTA(info); RTA_OK(field, length);
         field = RTA_NEXT(field, length)) {
        if (field->rta_type == IFLA_IFNAME) {
            strncpy(link->name, RTA_DATA(field), sizeof link->name - 1);
        } else if (field->rta_type == IFLA_LINKINFO) {
            int inner_length = (int)RTA_PAYLOAD(field);
            for (struct rtattr *inner = RTA_DATA(field); RTA_OK(inner, inner_length);
                 inner = RTA_NEXT(inner, inner_length))
                if (inner->rta_type == IFLA_INFO_KIND
                    && strncmp(RTA_DATA(inner), "bridge", RTA_PAYLOAD(inner)) == 0)
                    link->is_bridge = 1;
        }
    }
}

static void take_address(tables *tables, const struct nlmsghdr *message) {
    const struct ifaddrmsg *info = NLMSG_DATA(message);
    lh_network *network = tables->network;
    uint32_t flags = info->ifa_flags;
    lh_address address = {
        .link = (int)info->ifa_index, .is_ipv6 = info->ifa_family == AF_INET6,
        .prefix_bits = info->ifa_prefixlen};
    int length = (int)IFA_PAYLOAD(message);
    for (struct rtattr *field = IFA_RTA(info); RTA_OK(field, length);
         field = RTA_NEXT(field, length))
        if (field->rta_type == IFA_FLAGS)
            memcpy(&flags, RTA_DATA(field), sizeof flags);
        else if (field->rta_type == IFA_ADDRESS && RTA_PAYLOAD(field) <= sizeof address.bytes)
            memcpy(address.bytes, RTA_DATA(field), RTA_PAYLOAD(field));
    // The scope is too narrow, or the address is not yet known to be unique (RFC 4862 §5.4).
    if (info->ifa_scope >= RT_SCOPE_LINK || (flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED))
        || network->address_count == tables->address_capacity)
        return;
    address.is_deprecated = (flags & IFA_F_DEPRECATED) != 0;
    network->addresses[network->address_count++] = address;
}

static void take_route(tables *tables, const struct nlmsghdr *message) {
    const struct rtmsg *info = NLMSG_DATA(message);
    lh_network *network = tables->network;
    if (info->rtm_dst_len != 0 || info->rtm_type != RTN_UNICAST
        || info->rtm_table != RT_TABLE_MAIN || network->route_count == tables->route_capacity)
        return;
    lh_default_route route = {.is_ipv6 = info->rtm_family == AF_INET6};
    int length = (int)RTM_PAYLOAD(message);
    for (struct rtattr *field = RTM_RTA(info); RTA_OK(field, length);
         field = RTA_NEXT(field, length)) {
        if (field->rta_type == RTA_OIF)
            memcpy(&route.link, RTA_DATA(field), sizeof route.link);
        else if (field->rta_type == RTA_PRIORITY)
            memcpy(&route.metric, RTA_DATA(field), sizeof route.metric);
        else if (field->rta_type == RTA_MULTIPATH && RTA_PAYLOAD(field) >= sizeof(struct rtnexthop))
            route.link = ((struct rtnexthop *)RTA_DATA(field))->rtnh_ifindex;
    }
    if (route.link != 0)
        network->routes[network->route_count++] = route;
}

static void take_neighbour(neighbour *wanted, const struct nlmsghdr *message) {
    const struct ndmsg *info = NLMSG_DATA(message);
    if (!wanted || info->ndm_ifindex != wanted->link
        || (info->ndm_state & (NUD_INCOMPLETE | NUD_FAILED | NUD_NOARP)))
        return;
    const struct rtattr *hardware = 0;
    int is_it = 0;
    int length = (int)(message->nlmsg_len - NLMSG_LENGTH(sizeof *info));
    struct rtattr *field = (struct rtattr *)((char *)info + NLMSG_ALIGN(sizeof *info));
    for (; RTA_OK(field, length); field = RTA_NEXT(field, length)) {
        if (field->rta_type == NDA_DST)
            is_it = RTA_PAYLOAD(field) == wanted->size
                && memcmp(RTA_DATA(field), wanted->address, wanted->size) == 0;
        else if (field->rta_type == NDA_LLADDR && RTA_PAYLOAD(field) <= lh_hardware_bytes)
            hardware = field;
    }
    if (!is_it || !hardware)
        return;
    wanted->found = (int)RTA_PAYLOAD(hardware);
    memcpy(wanted->hardware, RTA_DATA(hardware), RTA_PAYLOAD(hardware));
}

static void take(tables *tables, const struct nlmsghdr *message) {
    switch (message->nlmsg_type) {
    case RTM_NEWNEIGH:
        if (message->nlmsg_len >= NLMSG_LENGTH(sizeof(struct ndmsg)))
            take_neighbour(tables->neighbour, message);
        break;
    case RTM_NEWLINK:
        if (message->nlmsg_len >= NLMSG_LENGTH(sizeof(struct ifinfomsg)))
            take_link(tables, message);
        break;
    case RTM_NEWADDR:
        if (message->nlmsg_len >= NLMSG_LENGTH(sizeof(struct ifaddrmsg)))
            take_address(tables, message);
        break;
    case RTM_NEWROUTE:
        if (message->nlmsg_len >= NLMSG_LENGTH(sizeof(struct rtmsg)))
            take_route(tables, message);
        break;
    }
}

// -EINTR: the table changed meanwhile, and the result may be incomplete.
static int dump(int descriptor, const void *request, size_t size, tables *tables) {
    static __thread char buffer[piece_bytes] __attribute__((aligned(NLMSG_ALIGNTO)));
    if (send(descriptor, request, size, 0) < 0)
        return -errno;
    int interrupted = 0;
    while (1) {
        ssize_t got = receive(descriptor, buffer, sizeof buffer);
        if (got <= 0)
            return got < 0 ? (int)got : -EIO;
        int length = (int)got;
        for (struct nlmsghdr *message = (struct nlmsghdr *)buffer; NLMSG_OK(message, length);
             message = NLMSG_NEXT(message, length)) {
            if (message->nlmsg_flags & NLM_F_DUMP_INTR)
                interrupted = 1;
            if (message->nlmsg_type == NLMSG_DONE)
                return interrupted ? -EINTR : 0;
            if (message->nlmsg_type == NLMSG_ERROR) {
                const struct nlmsgerr *failure = NLMSG_DATA(message);
                return failure->error < 0 ? failure->error : -EIO;
            }
            take(tables, message);
        }
    }
}

// A request for all entries of one kind.
#define DUMP(name, kind, question, ...) \
    struct { \
        struct nlmsghdr header; \
        struct kind body; \
    } name = { \
        .header = { \
            .nlmsg_len = sizeof name, .nlmsg_type = question, \
            .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}, \
        .body = {__VA_ARGS__}}

// Asks for the kernel's route to an address far outside (of a root name server): with policies and
// several tables the routes alone do not tell. Nothing is sent.
static int ask_outward(int descriptor, int family, const char *text, lh_outward_route *outward) {
    static __thread char buffer[piece_bytes] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct {
        struct nlmsghdr header;
        struct rtmsg body;
        struct rtattr field;
        unsigned char bytes[16];
    } request = {
        .header = {.nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST},
        .body = {.rtm_family = family}};
    size_t size = family == AF_INET ? 4 : 16;
    request.body.rtm_dst_len = size * 8;
    request.field = (struct rtattr){.rta_type = RTA_DST, .rta_len = RTA_LENGTH(size)};
    request.header.nlmsg_len = NLMSG_LENGTH(sizeof request.body) + RTA_SPACE(size);
    inet_pton(family, text, request.bytes);
    memset(outward, 0, sizeof *outward);
    if (send(descriptor, &request, request.header.nlmsg_len, 0) < 0)
        return -errno;
    ssize_t got = receive(descriptor, buffer, sizeof buffer);
    if (got <= 0)
        return got < 0 ? (int)got : -EIO;
    const struct nlmsghdr *answer = (const struct nlmsghdr *)buffer;
    // An error says that there is no way.
    if (!NLMSG_OK(answer, (int)got) || answer->nlmsg_type != RTM_NEWROUTE
        || answer->nlmsg_len < NLMSG_LENGTH(sizeof(struct rtmsg)))
        return 0;
    const struct rtmsg *info = NLMSG_DATA(answer);
    if (info->rtm_type != RTN_UNICAST)
        return 0;
    int length = (int)RTM_PAYLOAD(answer);
    for (struct rtattr *field = RTM_RTA(info); RTA_OK(field, length);
         field = RTA_NEXT(field, length)) {
        if (field->rta_type == RTA_OIF) {
            memcpy(&outward->link, RTA_DATA(field), sizeof outward->link);
        } else if (field->rta_type == RTA_GATEWAY
            && RTA_PAYLOAD(field) <= sizeof outward->gateway) {
            outward->has_gateway = 1;
            memcpy(outward->gateway, RTA_DATA(field), RTA_PAYLOAD(field));
        }
    }
    return 0;
}

static int read_all(int descriptor, tables *tables) {
    DUMP(links, ifinfomsg, RTM_GETLINK, .ifi_family = AF_UNSPEC);
    DUMP(addresses, ifaddrmsg, RTM_GETADDR, .ifa_family = AF_UNSPEC);
    DUMP(routes, rtmsg, RTM_GETROUTE, .rtm_table = RT_TABLE_MAIN, .rtm_type = RTN_UNICAST);
    lh_network *network = tables->network;
    network->link_count = 0;
    network->address_count = 0;
    network->route_count = 0;
    int answer = dump(descriptor, &links, sizeof links, tables);
    if (answer == 0)
        answer = dump(descriptor, &addresses, sizeof addresses, tables);
    const unsigned char families[] = {AF_INET, AF_INET6};
    for (size_t i = 0; answer == 0 && i < sizeof families; i++) {
        routes.body.rtm_family = families[i];
        answer = dump(descriptor, &routes, sizeof routes, tables);
        // A kernel without the address family, or without a table for it, has no such routes.
        if (answer == -EOPNOTSUPP || answer == -EAFNOSUPPORT || answer == -ENOENT)
            answer = 0;
    }
    if (answer == 0)
        answer = ask_outward(descriptor, AF_INET, "198.41.0.4", &network->outward[0]);
    if (answer == 0)
        answer = ask_outward(descriptor, AF_INET6, "2001:503:ba3e::2:30", &network->outward[1]);
    return answer;
}

static int question_socket(void) {
    int descriptor = netlink_socket(NETLINK_ROUTE, 0, 0);
    if (descriptor < 0)
        return descriptor;
    // The kernel filters by table and type from Linux 4.20 on; older kernels send everything.
    int one = 1;
    setsockopt(descriptor, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &one, sizeof one);
    struct timeval patience = {.tv_sec = 1};
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return descriptor;
}

int lh_neighbour_read(
    int link, int is_ipv6, const unsigned char *address, unsigned char *hardware) {
    neighbour wanted = {
        .link = link, .size = is_ipv6 ? 16 : 4, .address = address, .hardware = hardware};
    tables tables = {.neighbour = &wanted};
    int descriptor = question_socket();
    if (descriptor < 0)
        return descriptor;
    DUMP(neighbours, ndmsg, RTM_GETNEIGH, .ndm_family = is_ipv6 ? AF_INET6 : AF_INET);
    int answer = -EINTR;
    for (int attempt = 0; answer == -EINTR && attempt < attempts_max; attempt++)
        answer = dump(descriptor, &neighbours, sizeof neighbours, &tables);
    close(descriptor);
    return answer < 0 ? answer : wanted.found;
}

void lh_neighbour_ask(int link, int is_ipv6, const unsigned char *address) {
    enum { discard_port = 9 };
    struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_port = htons(discard_port)};
    struct sockaddr_in6 ipv6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(discard_port),
        .sin6_scope_id = (uint32_t)link};
    memcpy(&ipv4.sin_addr, address, sizeof ipv4.sin_addr);
    if (is_ipv6)
        memcpy(&ipv6.sin6_addr, address, sizeof ipv6.sin6_addr);
    int descriptor = socket(
        is_ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0)
        return;
    if (is_ipv6)
        sendto(descriptor, "", 0, 0, (struct sockaddr *)&ipv6, sizeof ipv6);
    else
        sendto(descriptor, "", 0, 0, (struct sockaddr *)&ipv4, sizeof ipv4);
    close(descriptor);
}

int lh_route_read(lh_network *network) {
    tables tables = {
        .network = network, .link_capacity = network->link_count,
        .address_capacity = network->address_count, .route_capacity = network->route_count};
    int descriptor = question_socket();
    if (descriptor < 0)
        return descriptor;
    int answer = -EINTR;
    for (int attempt = 0; answer == -EINTR && attempt < attempts_max; attempt++)
        answer = read_all(descriptor, &tables);
    close(descriptor);
    return answer;
}

// MARK: devices

int lh_uevent_watch(void) {
    return netlink_socket(NETLINK_KOBJECT_UEVENT, 1, SOCK_NONBLOCK);
}

// The text of an event is a header and lines KEY=VALUE, each ended by a null.
static int is_about(const char *text, size_t length, const char *subsystem) {
    static const char key[] = "SUBSYSTEM=";
    for (size_t at = 0; at < length;) {
        size_t line = strnlen(text + at, length - at);
        if (line > sizeof key - 1 && memcmp(text + at, key, sizeof key - 1) == 0
            && line - (sizeof key - 1) == strlen(subsystem)
            && memcmp(text + at + sizeof key - 1, subsystem, strlen(subsystem)) == 0)
            return 1;
        at += line + 1;
    }
    return 0;
}

int lh_uevent_watch_take(int descriptor, const char *subsystem) {
    // An event has at most 2 KiB of lines (UEVENT_BUFFER_SIZE) and its header.
    char buffer[8192];
    int any = 0;
    while (1) {
        ssize_t got = receive(descriptor, buffer, sizeof buffer);
        if (got == -EAGAIN)
            return any;
        if (got == -ENOBUFS) {
            any = 1;
            continue;
        }
        if (got <= 0)
            return got < 0 ? (int)got : any;
        any |= is_about(buffer, (size_t)got, subsystem);
    }
}
