// Only in builds with a sanitizer (scripts/test --sanitize thread|address).
#define _GNU_SOURCE
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
// What Swift's libraries keep to the end is no leak. An option of the environment would not get to the
// programs that an engine starts.
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0"; }
#endif
#if __has_feature(thread_sanitizer)
// Replacements for calls of other libraries that it does not know.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

// Swift's Mutex waits in its library, which is not instrumented: what a thread does after it has
// waited would look like a race. These two replace the library's own. The word holds the owner's
// thread; waiting here leaves no mark in it, so that an unlock never has to wake anybody.
__attribute__((swiftcall)) void lh_mutex_lock(
    uint32_t owner, __attribute__((swift_context)) _Atomic(uint32_t) *word)
    __asm__("$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
__attribute__((swiftcall)) void lh_mutex_unlock(
    __attribute__((swift_context)) _Atomic(uint32_t) *word)
    __asm__("$s15Synchronization12_MutexHandleV11_unlockSlowyyF");

__attribute__((swiftcall)) void lh_mutex_lock(
    uint32_t owner, __attribute__((swift_context)) _Atomic(uint32_t) *word) {
    uint32_t free = 0;
    while (!atomic_compare_exchange_weak_explicit(
        word, &free, owner, memory_order_acquire, memory_order_relaxed)) {
        free = 0;
        sched_yield();
    }
}

__attribute__((swiftcall)) void lh_mutex_unlock(
    __attribute__((swift_context)) _Atomic(uint32_t) *word) {
    atomic_store_explicit(word, 0, memory_order_release);
}

// ThreadSanitizer does not know this call: a thread that it joins would never end. It knows
// pthread_timedjoin_np(3), whose end is a moment of the wall clock.
int pthread_clockjoin_np(
    pthread_t thread, void **result, clockid_t clock, const struct timespec *end) {
    struct timespec now, until;
    clock_gettime(clock, &now);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += end->tv_sec - now.tv_sec;
    until.tv_nsec += end->tv_nsec - now.tv_nsec;
    if (until.tv_nsec < 0) {
        until.tv_sec--;
        until.tv_nsec += 1000000000L;
    } else if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    return pthread_timedjoin_np(thread, result, &until);
}
#endif
#endif
