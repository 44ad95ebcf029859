#define _GNU_SOURCE
#include "curl_shim.h"
#include "flow_shim.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
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

const char *lh_easy_getinfo_string(CURL *easy, CURLINFO info) {
    char *value = NULL;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : NULL;
}

void *lh_easy_getinfo_private(CURL *easy) {
    void *value = NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &value);
    return value;
}

// The connection's SSL object of OpenSSL; NULL = none, or another library's.
static void *openssl_of(CURL *easy) {
    struct curl_tlssessioninfo *session = NULL;
    if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || !session
        || session->backend != CURLSSLBACKEND_OPENSSL)
        return NULL;
    return session->internals;
}

int lh_easy_has_agreed_on_http2(CURL *easy) {
    typedef void (*selected_t)(const void *, const unsigned char **, unsigned *);
    static selected_t selected;
    void *ssl = openssl_of(easy);
    if (!ssl)
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
    ask(ssl, &name, &length);
    return length == 2 && memcmp(name, "h2", 2) == 0;
}

// MARK: the end of TLS

// The flows of this thread whose connections are watched. A connection may outlive its request and
// the flow, so that it must not lead to one.
static _Thread_local lh_flow *watched;

// Called by OpenSSL: `where` is SSL_CB_READ_ALERT, and the low byte of `alert` 0, for close_notify.
static void alerted(const void *ssl, int where, int alert) {
    if (where != 0x4004 || (alert & 0xff) != 0)
        return;
    for (lh_flow *flow = watched; flow; flow = flow->next_watched)
        if (flow->tls == ssl)
            flow->is_end_announced = 1;
}

void lh_flow_watch_tls(lh_flow *flow) {
    typedef void (*watch_t)(void *, void (*)(const void *, int, int));
    static watch_t watch;
    // An earlier try of this request.
    lh_flow_forget_tls(flow);
    void *ssl = openssl_of(flow->easy);
    if (!ssl || lh_easy_has_agreed_on_http2(flow->easy) == 1)
        return;
    watch_t set = __atomic_load_n(&watch, __ATOMIC_RELAXED);
    if (!set) {
        set = (watch_t)lh_curl_symbol("SSL_set_info_callback");
        if (!set)
            return;
        __atomic_store_n(&watch, set, __ATOMIC_RELAXED);
    }
    set(ssl, alerted);
    flow->tls = ssl;
    flow->next_watched = watched;
    watched = flow;
}

void lh_flow_forget_tls(lh_flow *flow) {
    flow->tls = NULL;
    flow->is_end_announced = 0;
    for (lh_flow **link = &watched; *link; link = &(*link)->next_watched) {
        if (*link != flow)
            continue;
        *link = flow->next_watched;
        break;
    }
    flow->next_watched = NULL;
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

// No interface has the address.
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
const long lh_auth_digest = (long)CURLAUTH_DIGEST;
const long lh_auth_negotiate = (long)CURLAUTH_NEGOTIATE;
const long lh_auth_any = (long)CURLAUTH_ANY;
const long lh_netrc_optional = (long)CURL_NETRC_OPTIONAL;

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
