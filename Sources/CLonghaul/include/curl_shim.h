#ifndef LONGHAUL_CURL_SHIM_H
#define LONGHAUL_CURL_SHIM_H
// What Swift cannot say to libcurl itself: its setters and getters are variadic. Beside them, the
// two callbacks that run for every piece of a response, so that no Swift code runs per piece.
#include "CLibcurl.h"
#include <stddef.h>
#include <stdint.h>

// MARK: setopt and getinfo, one function per argument type

CURLcode lh_easy_setopt_long(CURL *easy, CURLoption option, long value);
CURLcode lh_easy_setopt_off_t(CURL *easy, CURLoption option, int64_t value);
CURLcode lh_easy_setopt_string(CURL *easy, CURLoption option, const char *value);
CURLcode lh_easy_setopt_ptr(CURL *easy, CURLoption option, void *value);
CURLcode lh_easy_setopt_list(CURL *easy, CURLoption option, struct curl_slist *value);
CURLMcode lh_multi_setopt_long(CURLM *multi, CURLMoption option, long value);

// 0 where libcurl does not know.
long lh_easy_getinfo_long(CURL *easy, CURLINFO info);
// -1 where libcurl does not know.
int64_t lh_easy_getinfo_off_t(CURL *easy, CURLINFO info);
// What was set with CURLOPT_PRIVATE.
void *lh_easy_getinfo_private(CURL *easy);
// -1 where there is none.
curl_socket_t lh_easy_getinfo_socket(CURL *easy);
// Whether the address that its connection was made from is none of this machine's any more: nothing
// comes on it then, and nobody says so.
int lh_easy_has_lost_address(CURL *easy);
// Whether the two ends of its connection have agreed on HTTP/2; -1 = only OpenSSL is asked.
int lh_easy_has_agreed_on_http2(CURL *easy);

const curl_version_info_data *lh_version_info(void);
extern const long lh_auth_basic;

// The next handle that has left the wire, or NULL; `code` says how.
CURL *lh_multi_next_done(CURLM *multi, CURLcode *code);

// MARK: rate

// A token bucket in bytes. `rate` 0 = unlimited.
typedef struct lh_bucket {
    int64_t rate;       // bytes per second
    int64_t tokens;     // bytes that may be taken now
    int64_t filled_at;  // monotonic nanoseconds
    double remainder;   // fraction of a byte carried over
} lh_bucket;

// Sets a new rate; what was saved up under the old one is dropped.
void lh_bucket_set(lh_bucket *bucket, int64_t rate, int64_t now);
// Adds what the time since the last fill is worth, up to a small capacity: a longer pause must not
// be made up for by a burst. The kernel does not run ahead either: it enlarges a socket's receive
// buffer by how fast the program reads (tcp_rcv_space_adjust), and we read slowly.
void lh_bucket_fill(lh_bucket *bucket, int64_t now);
// Nanoseconds until there are tokens worth waking a paused request for; 0 = now.
int64_t lh_bucket_wait(const lh_bucket *bucket);

// MARK: one request's response

// Shared by all requests of one transport; written by its thread only.
typedef struct lh_turn {
    int64_t now;      // monotonic nanoseconds, read once per turn of the loop
    int64_t notices;  // requests whose `noticed` was set since the loop looked
    int rests;        // set whenever a flow's `rests_until` is
    lh_bucket total;  // the limit over all requests
} lh_turn;

enum lh_flow_state {
    LH_FLOW_UNJUDGED = 0,  // head not final yet, or no body byte seen
    LH_FLOW_OPEN,          // body goes where the plan says
    LH_FLOW_HELD,          // paused until the engine has committed the head's meaning
    LH_FLOW_DISCARD,       // the body is of no use
};

enum lh_flow_outcome {
    LH_FLOW_FINE = 0,
    LH_FLOW_REFUSED,          // body of no use, given up
    LH_FLOW_OVERLAP_DIFFERS,  // compared bytes are not those of the file
    LH_FLOW_TOO_LONG,         // body past `end`
    LH_FLOW_REACHED_STOP,     // body past `stop_at`: as asked
    LH_FLOW_DISK,             // `disk_errno`
    LH_FLOW_HEAD_TOO_LARGE,
};

// The life of one response: head collector and body sink. Filled by Swift before the request and at
// the judgement, changed by the two callbacks below.
typedef struct lh_flow {
    lh_turn *turn;
    void *owner;
    void (*judge)(void *owner);  // called at the first body byte; sets state and plan
    int (*admits)(void *owner);  // whether the request may go over the connection found for it

    // Head: the lines of the latest answer, line ends included, from "HTTP/" on.
    char *head;
    size_t head_length;
    size_t head_capacity;
    size_t head_limit;
    int head_status;    // from its status line
    int head_complete;  // the empty line came, and the answer is not an interim one
    size_t after_head;  // bytes of fields that came after it

    // The beginning of FTP's latest reply, line ends included.
    char reply[192];
    size_t reply_length;
    int reply_complete;

    // Body.
    int state;
    int outcome;
    int disk_errno;
    int fd;
    int64_t skip;       // bytes still to drop
    int64_t compare;    // bytes still to compare
    int64_t position;   // file offset of the next byte to compare or write
    int64_t end;        // no byte at or after this offset is written; -1 = unbounded
    int64_t stop_at;    // as `end`, but reaching it is success; -1 = unbounded
    int64_t written;    // bytes written
    int64_t received;   // bytes received
    uint64_t *segment_cell;  // NULL = none
    uint64_t *fetch_cell;    // NULL = none
    size_t first_chunk;      // size of the piece that led to the judgement
    int paused;        // the last piece was sent back: libcurl has it, and what came after it
    int drained;       // what comes now is of no use
    size_t swallowed;  // bytes at the start of the paused piece that were taken before the pause

    int64_t notice_every;  // 0 = never
    int64_t notice_at;
    int noticed;
    int rate_paused;
    lh_bucket bucket;
    int64_t rests_until;  // monotonic nanoseconds; its disk kept the thread: others first. 0 = goes on
    int64_t touched;  // monotonic nanoseconds of the latest sign of life
    int64_t heard;    // the same of the latest bytes that came; 0 = none did
    int begun;        // libcurl looks up a name, opens a connection or uses one
    int connected;    // it has a connection, the last one that was made or one that was there
    int has_data_sockets;  // FTP: those made when it has a connection are for data
    int socket;       // the last one made for it, perhaps closed by now; -1 = none was
    uint64_t cookie;  // of that one: the number may be another's by now
    int64_t asked_in;     // `now` of the turn in which libcurl last told its progress; 0 = none yet
    int64_t asked_since;  // monotonic nanoseconds of the first time in that turn
} lh_flow;

// Forgets everything of the last request, keeps the head buffer.
void lh_flow_reset(lh_flow *flow);
// Takes from a handle that is to leave the wire what it holds back for a paused sink, and drops it.
void lh_flow_drain(lh_flow *flow, CURL *easy);
// Lets libcurl no longer wait within one call than some seconds: at the end of a file over FTP and
// SFTP it waits for the server's word, and all other transfers with it.
void lh_flow_bound(lh_flow *flow, CURL *easy);
// Shuts the sockets of a handle down that is to leave the wire before its end: what FTP and SFTP
// have to say to the server then, and wait to hear, fails at once.
void lh_flow_cut(lh_flow *flow, CURL *easy);
void lh_flow_free_head(lh_flow *flow);
// Connects the flow to a handle: header and write function, and those that tell that it has begun,
// with their data.
void lh_flow_attach(lh_flow *flow, CURL *easy);

size_t lh_flow_header(char *data, size_t size, size_t count, void *opaque);
size_t lh_flow_body(char *data, size_t size, size_t count, void *opaque);

#endif
