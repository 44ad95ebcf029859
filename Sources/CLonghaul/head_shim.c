#include "flow_shim.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

static void free_upload(lh_flow *flow) {
    free(flow->upload.before);
    free(flow->upload.after);
    free(flow->upload.answer);
    memset(&flow->upload, 0, sizeof flow->upload);
}

void lh_flow_reset(lh_flow *flow) {
    free_upload(flow);
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

void lh_flow_leave(lh_flow *flow) {
    lh_flow_forget_tls(flow);
    if (flow->turn)
        lh_budget_leave(flow->turn->budget, flow, flow->held);
    flow->held = 0;
}

void lh_flow_free_head(lh_flow *flow) {
    free_upload(flow);
    lh_flow_forget_tls(flow);
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

int lh_flow_may_reach(lh_flow *flow, const struct sockaddr *address) {
    int may = 1;
    if (flow->may_reach && address->sa_family == AF_INET)
        may = flow->may_reach(
            (const uint8_t *)&((const struct sockaddr_in *)address)->sin_addr, 4);
    else if (flow->may_reach && address->sa_family == AF_INET6)
        may = flow->may_reach(
            (const uint8_t *)&((const struct sockaddr_in6 *)address)->sin6_addr, 16);
    // Another address of the host may be public.
    if (may)
        flow->is_kept_away = 0;
    else if (flow->socket < 0 || flow->connected)
        flow->is_kept_away = 1;
    return may;
}

static int before_request(
    void *opaque, char *remote, char *local, int remote_port, int local_port) {
    (void)local;
    (void)remote_port;
    lh_flow *flow = opaque;
    flow->connected = 1;
    begin(flow);
    // A connection of another request may be used again.
    struct sockaddr_storage address = {0};
    if (remote && inet_pton(AF_INET, remote, &((struct sockaddr_in *)&address)->sin_addr) == 1)
        address.ss_family = AF_INET;
    else if (
        remote && inet_pton(AF_INET6, remote, &((struct sockaddr_in6 *)&address)->sin6_addr) == 1)
        address.ss_family = AF_INET6;
    if (!lh_flow_may_reach(flow, (struct sockaddr *)&address))
        return CURL_PREREQFUNC_ABORT;
    if (!lh_budget_use(flow->turn->budget, flow->site, (uint16_t)local_port, &flow->held)) {
        flow->is_crowded = 1;
        return CURL_PREREQFUNC_ABORT;
    }
    if (!flow->admits(flow->owner))
        return CURL_PREREQFUNC_ABORT;
    lh_flow_watch_tls(flow);
    return CURL_PREREQFUNC_OK;
}

void lh_flow_attach(lh_flow *flow, CURL *easy) {
    flow->easy = easy;
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

// The reply to MDTM has the same number as that to SIZE, and comes before the address of the data
// connection (227, 229), which comes before SIZE.
static void note_size(lh_flow *flow, const char *line, size_t length) {
    if (length < 4)
        return;
    if (memcmp(line, "22", 2) == 0)
        flow->has_told_size = 0;
    if (memcmp(line, "213 ", 4) != 0)
        return;
    int64_t size = 0;
    size_t digits = 0;
    for (size_t i = 4; i < length && line[i] >= '0' && line[i] <= '9' && digits < 18; i++, digits++)
        size = size * 10 + (line[i] - '0');
    flow->told_size = size;
    flow->has_told_size = digits > 0;
}

// A reply of several lines ends with the one that has a blank after its number (RFC 959 §4.2).
static void keep_reply(lh_flow *flow, const char *line, size_t length) {
    note_size(flow, line, length);
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
        if (flow->head_complete && flow->notices_head) {
            flow->noticed = 1;
            flow->turn->notices++;
        }
        if ((flow->head_status == 104 || flow->head_status == 417) && flow->interim) {
            flow->interim(flow->owner);
            if (flow->outcome != LH_FLOW_FINE)
                return 0;
        }
        flow->touched = flow->turn->now;
    }
    return length;
}
