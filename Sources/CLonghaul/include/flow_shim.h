#ifndef LONGHAUL_FLOW_SHIM_H
#define LONGHAUL_FLOW_SHIM_H
// The two callbacks that run for every piece of a response, so that no Swift code runs per piece:
// head_shim.c collects the head, body_shim.c slows the body down and writes it.
#include "CLibcurl.h"
#include "budget_shim.h"
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

// MARK: one request's response

// Shared by all requests of one transport; written by its thread only.
typedef struct lh_turn {
    int64_t now;      // monotonic nanoseconds, read once per turn of the loop
    int64_t notices;  // requests whose `noticed` was set since the loop last checked
    int rests;        // set whenever a flow's `rests_until` is
    lh_budget *budget;
    struct lh_flow *gathering;  // whose bytes are in `gathered`; NULL = no bytes
    uint8_t *gathered;          // owned by the turn; NULL until a body comes
    size_t gathered_length;
} lh_turn;

enum lh_flow_state {
    LH_FLOW_UNJUDGED = 0,  // head not final yet, or no body byte seen
    LH_FLOW_OPEN,          // body goes where the plan says
    LH_FLOW_HELD,          // paused until the engine has committed the head's meaning
    LH_FLOW_DISCARD,       // the body is dropped
    LH_FLOW_KEEP,          // the beginning of the body is kept in `answer`
};

enum lh_flow_outcome {
    LH_FLOW_FINE = 0,
    LH_FLOW_REFUSED,          // the body is not wanted; the request was ended
    LH_FLOW_OVERLAP_DIFFERS,  // compared bytes differ from the file's
    LH_FLOW_TOO_LONG,         // body past `end`
    LH_FLOW_REACHED_STOP,     // body past `stop_at`, where it was to end
    LH_FLOW_DISK,             // `disk_errno`
    LH_FLOW_HEAD_TOO_LARGE,
    LH_FLOW_SOURCE_CHANGED,  // the file that is sent is another version, or shorter
};

// Body of a request: a prefix, a part of the file `fd` of its flow, and a suffix.
typedef struct lh_upload {
    uint8_t *before;  // owned by the flow
    uint8_t *after;   // as `before`
    size_t before_length;
    size_t after_length;
    int64_t file_start;
    int64_t file_end;
    int64_t position;  // of the next byte within all of it
    int64_t base;      // libcurl's offset of the first byte (CURLOPT_RESUME_FROM_LARGE)
    int64_t sent;      // the furthest that `position` has been
    int64_t dropped;   // file offset up to which the page cache was given back
    int may_repeat;    // the request may be sent again after some bytes were sent
    int is_pinned;     // `size`, `modified` and `changed` describe the version to send
    int64_t size;
    int64_t modified;  // nanoseconds since 1970
    int64_t changed;   // nanoseconds since 1970
    uint8_t *answer;   // the beginning of the answer's body; owned by the flow
    size_t answer_length;
    size_t answer_limit;
} lh_upload;

// The state of one response: it collects the head and writes the body. Swift fills it before the
// request and at the judgement; the two callbacks below change it.
typedef struct lh_flow {
    lh_turn *turn;
    CURL *easy;
    struct lh_pool *pool;
    uint64_t site;   // as which its connections count; not 0
    uint64_t held;   // the connection in use, for `lh_budget_leave`; 0 = none
    int is_crowded;  // it was not sent: the budget has no connection for it
    void *owner;
    void (*judge)(void *owner);  // called at the first body byte; sets state and plan
    void (*interim)(void *owner);  // called at the end of a head with the status 104 or 417
    int (*admits)(void *owner);  // whether the request may go over the connection found for it
    // True if the request may go to this address, of 4 or 16 bytes; NULL = to any.
    int (*may_reach)(const uint8_t *address, size_t length);
    int is_kept_away;  // it has no connection to an address that it may reach

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
    int64_t told_size;  // FTP: by SIZE
    int has_told_size;

    // Body.
    int state;
    int outcome;
    int disk_errno;
    int fd;
    int64_t skip;       // bytes still to drop
    int64_t compare;    // bytes still to compare
    int64_t position;   // file offset of the next byte to compare or gather
    int64_t end;        // no byte at or after this offset is written; -1 = unbounded
    int64_t stop_at;    // as `end`, but reaching it is success; -1 = unbounded
    int64_t written;    // bytes written
    int64_t received;   // bytes received
    uint64_t *segment_cell;  // NULL = none
    uint64_t *fetch_cell;    // NULL = none
    size_t first_chunk;      // size of the piece that led to the judgement
    int paused;        // the last piece was refused: libcurl holds it, and what follows it
    int drained;       // further bytes are dropped
    size_t swallowed;  // bytes at the start of the paused piece that were taken before the pause

    int64_t notice_every;  // 0 = never
    int64_t notice_at;
    int noticed;
    int notices_head;  // so is the end of the head: the body may begin minutes later
    int rate_paused;
    lh_bucket bucket;
    int64_t rests_until;  // monotonic nanoseconds; paused until then after a slow write; 0 = not
    int64_t touched;  // monotonic nanoseconds of the latest progress
    int64_t heard;    // the same of the latest bytes received; 0 = none
    int begun;        // libcurl looks up a name, opens a connection or uses one
    int connected;    // the request has a connection, a new one or a reused one
    int has_data_sockets;  // FTP: sockets made while it has a connection are for data
    int socket;       // the last one made for the request, may be closed; -1 = none
    uint64_t cookie;  // SO_COOKIE of `socket`, whose number may be reused
    const void *tls;  // OpenSSL's object of its HTTP/1.1 connection; NULL = unset
    struct lh_flow *next_watched;
    int is_end_announced;  // close_notify has come on the connection
    lh_upload upload;
    int64_t asked_in;     // `now` of the turn of libcurl's last report of progress; 0 = none
    int64_t asked_since;  // monotonic nanoseconds of the first time in that turn
} lh_flow;

// Writes the gathered bytes. To be called before anything is concluded from a flow's written bytes.
// Returns the flow if its disk has failed: its `outcome` says so.
lh_flow *lh_turn_write(lh_turn *turn);
// Makes the handle send the flow's `upload`, and copies its prefix and suffix.
int lh_flow_send(
    lh_flow *flow, CURL *easy, const uint8_t *before, size_t before_length, const uint8_t *after,
    size_t after_length);
// Drops what libcurl hands over for a request without a body: over FTP, fields made by libcurl.
void lh_flow_ignore_body(CURL *easy);
size_t lh_flow_read(char *buffer, size_t size, size_t count, void *opaque);

// Clears the state of the last request, which has left its connection; keeps the head buffer.
void lh_flow_reset(lh_flow *flow);
// Makes libcurl hand over bytes held back for a paused sink, and drops them. For a handle that is
// to be removed.
void lh_flow_drain(lh_flow *flow, CURL *easy);
// Ends a request that keeps libcurl within one call for more than 5 seconds. At the end of a file
// over FTP and SFTP libcurl waits for the server's reply, and blocks all other requests meanwhile.
void lh_flow_bound(lh_flow *flow, CURL *easy);
// Shuts down the sockets of a handle that is to be removed before its end. The exchange with which
// FTP and SFTP end a session then fails at once instead of waiting for the server.
void lh_flow_cut(lh_flow *flow, CURL *easy);
// Notes whether the server announces the end of the TLS connection that the request goes over.
// libcurl 7.88 ends a body without a length well at the end of TCP, too. Called on the thread of
// the request, as the next one is.
void lh_flow_watch_tls(lh_flow *flow);
void lh_flow_forget_tls(lh_flow *flow);
// The request leaves its connection, which is idle from now on if no other one uses it.
void lh_flow_leave(lh_flow *flow);
void lh_flow_free_head(lh_flow *flow);
// Connects the flow to a handle: its header and write functions, and the functions that libcurl
// calls when a request begins.
void lh_flow_attach(lh_flow *flow, CURL *easy);

// Returns whether the flow may go to the address; records a refused one.
int lh_flow_may_reach(lh_flow *flow, const struct sockaddr *address);

size_t lh_flow_header(char *data, size_t size, size_t count, void *opaque);
size_t lh_flow_body(char *data, size_t size, size_t count, void *opaque);

#endif
