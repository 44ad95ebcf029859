#define _GNU_SOURCE
#include "delay_load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

// dlopen counts references: two threads that load the library at once get the same handle.
void *lh_library_load(struct lh_library *library)
{
    void *handle = atomic_load_explicit(&library->handle, memory_order_acquire);
    if (handle) return handle;
    handle = dlopen(library->name, RTLD_NOW | RTLD_LOCAL);
    if (handle) atomic_store_explicit(&library->handle, handle, memory_order_release);
    return handle;
}

void *lh_library_symbol(struct lh_library *library, const char *name)
{
    void *handle = lh_library_load(library);
    void *symbol = handle ? dlsym(handle, name) : NULL;
    if (!symbol) {
        fprintf(stderr, "longhaul: %s\n", dlerror());
        abort();
    }
    return symbol;
}
