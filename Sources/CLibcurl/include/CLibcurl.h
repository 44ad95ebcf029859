// libcurl, loaded when the first of these functions is called: see delay_load.h.
#ifndef LH_CLIBCURL_H
#define LH_CLIBCURL_H

#pragma redefine_extname curl_easy_cleanup longhaul_curl_easy_cleanup
#pragma redefine_extname curl_easy_getinfo longhaul_curl_easy_getinfo
#pragma redefine_extname curl_easy_init longhaul_curl_easy_init
#pragma redefine_extname curl_easy_pause longhaul_curl_easy_pause
#pragma redefine_extname curl_easy_reset longhaul_curl_easy_reset
#pragma redefine_extname curl_easy_setopt longhaul_curl_easy_setopt
#pragma redefine_extname curl_easy_strerror longhaul_curl_easy_strerror
#pragma redefine_extname curl_free longhaul_curl_free
#pragma redefine_extname curl_global_init longhaul_curl_global_init
#pragma redefine_extname curl_multi_add_handle longhaul_curl_multi_add_handle
#pragma redefine_extname curl_multi_cleanup longhaul_curl_multi_cleanup
#pragma redefine_extname curl_multi_info_read longhaul_curl_multi_info_read
#pragma redefine_extname curl_multi_init longhaul_curl_multi_init
#pragma redefine_extname curl_multi_perform longhaul_curl_multi_perform
#pragma redefine_extname curl_multi_poll longhaul_curl_multi_poll
#pragma redefine_extname curl_multi_remove_handle longhaul_curl_multi_remove_handle
#pragma redefine_extname curl_multi_setopt longhaul_curl_multi_setopt
#pragma redefine_extname curl_multi_wakeup longhaul_curl_multi_wakeup
#pragma redefine_extname curl_share_cleanup longhaul_curl_share_cleanup
#pragma redefine_extname curl_share_init longhaul_curl_share_init
#pragma redefine_extname curl_share_setopt longhaul_curl_share_setopt
#pragma redefine_extname curl_slist_append longhaul_curl_slist_append
#pragma redefine_extname curl_slist_free_all longhaul_curl_slist_free_all
#pragma redefine_extname curl_url longhaul_curl_url
#pragma redefine_extname curl_url_cleanup longhaul_curl_url_cleanup
#pragma redefine_extname curl_url_get longhaul_curl_url_get
#pragma redefine_extname curl_url_set longhaul_curl_url_set
#pragma redefine_extname curl_version_info longhaul_curl_version_info

#if !__has_include(<curl/curl.h>)
#error "curl/curl.h is missing: install libcurl4-openssl-dev (apt-get install libcurl4-openssl-dev)"
#endif
#include <curl/curl.h>

// Loads libcurl; 0 = it cannot be loaded.
int lh_curl_load(void);

/// A function of libcurl or of a library loaded with it; NULL = there is none.
void *lh_curl_symbol(const char *name);

#endif
