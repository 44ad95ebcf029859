// Only in builds with ThreadSanitizer (scripts/test --sanitize thread).
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

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
#endif
#endif
