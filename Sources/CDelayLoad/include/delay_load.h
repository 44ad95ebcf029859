// Shared libraries that are loaded when the first of their functions is called.
//
// libcurl and libsystemd depend on some thirty libraries. Loading these takes longer than all else
// that a command like `list` does, and takes memory that an idle engine does not need.
#ifndef LH_DELAY_LOAD_H
#define LH_DELAY_LOAD_H

#include <stdatomic.h>

struct lh_library {
    const char *name;
    void *_Atomic handle;
};

// Loads the library unless it is loaded, on any thread. Null on failure: `dlerror` says why.
void *lh_library_load(struct lh_library *library);

// The function's address. Aborts with a message if the function is missing: a library removes no
// function without changing its soname.
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
