// Shared libraries that are loaded when the first of their functions is called.
//
// libcurl and libsystemd bring some thirty libraries with them, whose loading takes longer than all
// else that a command like `list` does, and memory that an idle engine has no use for.
#ifndef LH_DELAY_LOAD_H
#define LH_DELAY_LOAD_H

#include <stdatomic.h>

struct lh_library {
    const char *name;
    void *_Atomic handle;
};

// Loads the library if it is not, from any thread. Null when it cannot be had: `dlerror` says why.
void *lh_library_load(struct lh_library *library);

// The function. Ends the process with a sentence when it is missing: libraries keep theirs.
void *lh_library_symbol(struct lh_library *library, const char *name);

// Defines longhaul_NAME, which finds NAME at the first call. The headers give declarations of NAME
// this name (`#pragma redefine_extname`), so callers write NAME, and another copy of the library
// in the same process is left alone.
#define LH_DELAYED(library, type, name, parameters, arguments) \
    __attribute__((visibility("hidden"))) type longhaul_##name parameters \
    { \
        static type(*_Atomic found) parameters; \
        type(*function) parameters = atomic_load_explicit(&found, memory_order_acquire); \
        if (!function) { \
            function = (type(*) parameters)lh_library_symbol(&library, #name); \
            atomic_store_explicit(&found, function, memory_order_release); \
        } \
        return function arguments; \
    }

#endif
