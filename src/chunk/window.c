#include "chunk/window.h"

#include <stdatomic.h>

#include "options/options.h"
#include "os/os.h"

uint8_t window_uses[WINDOW_COUNT];

static _Atomic size_t ours; /* windows */

static void set_use(const void *window, enum window_use use) {
    window_uses[(uintptr_t)window >> WINDOW_SHIFT] = (uint8_t)use;
    if (use == WINDOW_FOREIGN)
        atomic_fetch_sub_explicit(&ours, 1, memory_order_relaxed);
    else
        atomic_fetch_add_explicit(&ours, 1, memory_order_relaxed);
}

size_t window_bytes(void) {
    return atomic_load_explicit(&ours, memory_order_relaxed) * WINDOW;
}

/* Where the half of a double reservation lay that was not needed: aligned, and likely still free. */
static _Atomic(char *) aligned_hint;

/* The kernel aligns to pages only: ask for twice as much and return what is outside. */
static char *reserve(void) {
    char *hint = atomic_exchange_explicit(&aligned_hint, NULL, memory_order_relaxed);
    if (hint != NULL) {
        char *w = os_reserve(hint, WINDOW);
        if (w != NULL && ptr_is_aligned(w, WINDOW))
            return w;
        if (w != NULL)
            os_unmap(w, WINDOW);
    }
    char *both = os_reserve(NULL, 2 * WINDOW);
    if (both == NULL) { /* not that much left: one window may still be aligned by luck */
        char *w = os_reserve(NULL, WINDOW);
        if (w == NULL || ptr_is_aligned(w, WINDOW))
            return w;
        os_unmap(w, WINDOW);
        return NULL;
    }
    char *w = ptr_align_up(both, WINDOW);
    size_t before = (size_t)(w - both);
    if (before > 0)
        os_unmap(both, before);
    else
        atomic_store_explicit(&aligned_hint, w + WINDOW, memory_order_relaxed);
    os_unmap(w + WINDOW, WINDOW - before);
    return w;
}

void *window_create(enum window_use use, size_t committed, const char *name) {
    char *w = reserve();
    if (w == NULL)
        return NULL;
    if ((uintptr_t)w >> WINDOW_SHIFT >= WINDOW_COUNT || !os_commit(w, committed)) {
        os_unmap(w, WINDOW);
        return NULL;
    }
    if (option(OPT_DECORATE_MAPS) >= 1)
        os_name(w, WINDOW, name);
    set_use(w, use);
    return w;
}

bool window_destroy(void *window) {
    enum window_use use = window_use_of(window);
    /* Forget first: once unmapped, another thread may get the addresses. */
    set_use(window, WINDOW_FOREIGN);
    if (!os_unmap(window, WINDOW)) {
        set_use(window, use);
        return false;
    }
    return true;
}
