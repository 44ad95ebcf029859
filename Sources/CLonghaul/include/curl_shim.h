#ifndef LONGHAUL_CURL_SHIM_H
#define LONGHAUL_CURL_SHIM_H
// libcurl's setters and getters are variadic, which Swift cannot call.
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
// Pointer that was set with CURLOPT_PRIVATE.
void *lh_easy_getinfo_private(CURL *easy);
// NULL = unknown.
const char *lh_easy_getinfo_string(CURL *easy, CURLINFO info);

// CURL_SOCKET_BAD without a connection.
curl_socket_t lh_easy_getinfo_socket(CURL *easy);
// True if the connection's local address is gone from this machine: packets to it are lost without
// an error.
int lh_easy_has_lost_address(CURL *easy);
// The connection negotiated HTTP/2 by ALPN; -1 = unknown, as without OpenSSL.
int lh_easy_has_agreed_on_http2(CURL *easy);

const curl_version_info_data *lh_version_info(void);
extern const long lh_auth_basic;
extern const long lh_auth_digest;
extern const long lh_auth_negotiate;
extern const long lh_auth_any;
// CURL_NETRC_OPTIONAL: an enumerator in older headers of libcurl, a long in 8.14's.
extern const long lh_netrc_optional;

// The next handle whose transfer has ended, or NULL; `code` is its result.
CURL *lh_multi_next_done(CURLM *multi, CURLcode *code);

#endif
