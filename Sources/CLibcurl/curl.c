// The functions of libcurl in use. A function that is not listed here does not link.
#include "CLibcurl.h"
#include "delay_load.h"

#include <dlfcn.h>
#include <stdarg.h>

static struct lh_library libcurl = {.name = "libcurl.so.4"};

void *lh_curl_symbol(const char *name)
{
    void *handle = lh_library_load(&libcurl);
    return handle ? dlsym(handle, name) : 0;
}

int lh_curl_load(void)
{
    return lh_library_load(&libcurl) ? 1 : 0;
}

LH_DELAYED(libcurl, void, curl_easy_cleanup, (CURL *curl), (curl))
LH_DELAYED(libcurl, CURL *, curl_easy_init, (void), ())
LH_DELAYED(libcurl, CURLcode, curl_easy_pause, (CURL *handle, int bitmask), (handle, bitmask))
LH_DELAYED(libcurl, void, curl_easy_reset, (CURL *curl), (curl))
LH_DELAYED(libcurl, const char *, curl_easy_strerror, (CURLcode code), (code))
LH_DELAYED(libcurl, void, curl_free, (void *p), (p))
LH_DELAYED(libcurl, CURLcode, curl_global_init, (long flags), (flags))
LH_DELAYED(
    libcurl, CURLMcode, curl_multi_add_handle,
    (CURLM *multi_handle, CURL *curl_handle),
    (multi_handle, curl_handle))
LH_DELAYED(libcurl, CURLMcode, curl_multi_cleanup, (CURLM *multi_handle), (multi_handle))
LH_DELAYED(
    libcurl, CURLMsg *, curl_multi_info_read,
    (CURLM *multi_handle, int *msgs_in_queue),
    (multi_handle, msgs_in_queue))
LH_DELAYED(libcurl, CURLM *, curl_multi_init, (void), ())
LH_DELAYED(
    libcurl, CURLMcode, curl_multi_perform,
    (CURLM *multi_handle, int *running_handles),
    (multi_handle, running_handles))
LH_DELAYED(
    libcurl, CURLMcode, curl_multi_poll,
    (CURLM *multi_handle, struct curl_waitfd extra_fds[], unsigned int extra_nfds,
     int timeout_ms, int *ret),
    (multi_handle, extra_fds, extra_nfds, timeout_ms, ret))
LH_DELAYED(
    libcurl, CURLMcode, curl_multi_remove_handle,
    (CURLM *multi_handle, CURL *curl_handle),
    (multi_handle, curl_handle))
LH_DELAYED(libcurl, CURLMcode, curl_multi_wakeup, (CURLM *multi_handle), (multi_handle))
LH_DELAYED(libcurl, CURLSHcode, curl_share_cleanup, (CURLSH *share), (share))
LH_DELAYED(libcurl, CURLSH *, curl_share_init, (void), ())
LH_DELAYED(
    libcurl, struct curl_slist *, curl_slist_append,
    (struct curl_slist *list, const char *data),
    (list, data))
LH_DELAYED(libcurl, void, curl_slist_free_all, (struct curl_slist *list), (list))
LH_DELAYED(libcurl, CURLU *, curl_url, (void), ())
LH_DELAYED(libcurl, void, curl_url_cleanup, (CURLU *handle), (handle))
LH_DELAYED(
    libcurl, CURLUcode, curl_url_get,
    (CURLU *handle, CURLUPart what, char **part, unsigned int flags),
    (handle, what, part, flags))
LH_DELAYED(
    libcurl, CURLUcode, curl_url_set,
    (CURLU *handle, CURLUPart what, const char *part, unsigned int flags),
    (handle, what, part, flags))
LH_DELAYED(libcurl, curl_version_info_data *, curl_version_info, (CURLversion code), (code))

// libcurl takes the third argument as a long, a pointer or a curl_off_t, as the option says. The
// supported 64-bit ABIs pass all three alike.
_Static_assert(sizeof(long) == 8 && sizeof(void *) == 8 && sizeof(curl_off_t) == 8, "LP64");

#define LH_DELAYED_OPTION(type, name, handle, option) \
    __attribute__((visibility("hidden"))) type longhaul_##name(handle it, option what, ...) \
    { \
        static type (*_Atomic found)(handle, option, ...); \
        type (*function)(handle, option, ...) = atomic_load_explicit(&found, memory_order_acquire); \
        if (!function) { \
            function = (type (*)(handle, option, ...))lh_library_symbol(&libcurl, #name); \
            atomic_store_explicit(&found, function, memory_order_release); \
        } \
        va_list list; \
        va_start(list, what); \
        void *value = va_arg(list, void *); \
        va_end(list); \
        return function(it, what, value); \
    }

LH_DELAYED_OPTION(CURLcode, curl_easy_getinfo, CURL *, CURLINFO)
LH_DELAYED_OPTION(CURLcode, curl_easy_setopt, CURL *, CURLoption)
LH_DELAYED_OPTION(CURLMcode, curl_multi_setopt, CURLM *, CURLMoption)
LH_DELAYED_OPTION(CURLSHcode, curl_share_setopt, CURLSH *, CURLSHoption)
