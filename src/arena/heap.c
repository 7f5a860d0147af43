#include "arena/heap.h"

#include "base/counter.h"
#include "guard/assert.h"
#include "options/options.h"
#include "os/os.h"

_Static_assert(sizeof(struct heap) % ALIGNMENT == 0, "chunks behind it are aligned");

/* One bit a window of the lower half of a 48-bit address space. */
enum { WINDOW_BITS = 48 - 26 };
static _Atomic uint64_t known[((size_t)1 << WINDOW_BITS) / 64];

static uintptr_t window_of(const void *p) {
    return (uintptr_t)p / HEAP_MAX;
}

static uint64_t window_bit(const void *p) {
    return (uint64_t)1 << window_of(p) % 64;
}

/* False: outside the part of the address space that the table covers. */
static bool set_known(const void *p, bool yes) {
    if (window_of(p) >> WINDOW_BITS != 0)
        return false;
    _Atomic uint64_t *word = &known[window_of(p) / 64];
    if (yes)
        atomic_fetch_or_explicit(word, window_bit(p), memory_order_relaxed);
    else
        atomic_fetch_and_explicit(word, ~window_bit(p), memory_order_relaxed);
    return true;
}

bool heap_known(const void *p) {
    return window_of(p) >> WINDOW_BITS == 0 &&
           (atomic_load_explicit(&known[window_of(p) / 64], memory_order_relaxed) & window_bit(p)) !=
               0;
}

/* Where the half of a double reservation lay that was not needed: aligned, and likely still free. */
static _Atomic(char *) aligned_hint;

/* 64 MiB of reserved address space at a multiple of 64 MiB.  The kernel aligns to pages only: ask
   for twice as much and return what is outside. */
static char *reserve_window(void) {
    char *hint = atomic_exchange_explicit(&aligned_hint, NULL, memory_order_relaxed);
    if (hint != NULL) {
        char *w = os_reserve(hint, HEAP_MAX);
        if (w != NULL && ptr_is_aligned(w, HEAP_MAX))
            return w;
        if (w != NULL)
            os_unmap(w, HEAP_MAX);
    }
    char *both = os_reserve(NULL, 2 * HEAP_MAX);
    if (both == NULL) { /* not that much left: one window may still be aligned by luck */
        char *w = os_reserve(NULL, HEAP_MAX);
        if (w == NULL || ptr_is_aligned(w, HEAP_MAX))
            return w;
        os_unmap(w, HEAP_MAX);
        return NULL;
    }
    char *w = ptr_align_up(both, HEAP_MAX);
    size_t before = (size_t)(w - both);
    if (before > 0)
        os_unmap(both, before);
    else
        atomic_store_explicit(&aligned_hint, w + HEAP_MAX, memory_order_relaxed);
    os_unmap(w + HEAP_MAX, HEAP_MAX - before);
    return w;
}

struct heap *heap_create(struct arena *a, size_t lead, size_t need, size_t pad) {
    size_t head = sizeof(struct heap) + lead;
    if (need > HEAP_MAX - head)
        return NULL;
    need += head;
    size_t size = pad > HEAP_MAX - need ? HEAP_MAX : need + pad;
    size = align_up(size_max(size, HEAP_MIN), os_facts.page);
    char *w = reserve_window();
    if (w == NULL)
        return NULL;
    if (!os_commit(w, size) || !set_known(w, true)) {
        os_unmap(w, HEAP_MAX);
        return NULL;
    }
    if (option(OPT_DECORATE_MAPS) >= 1)
        os_name(w, HEAP_MAX, "rung: arena");
    struct heap *h = (struct heap *)w;
    h->arena = a;
    h->prev = NULL;
    h->size = size;
    h->committed = size;
    h->lead = lead;
    counter_add(COUNT_SUBHEAPS, 1);
    return h;
}

bool heap_grow(struct heap *h, size_t more) {
    if (more > HEAP_MAX)
        return false;
    size_t size = align_up(h->size + more, os_facts.page);
    if (size > HEAP_MAX)
        return false;
    if (size > h->committed) {
        if (!os_commit((char *)h + h->committed, size - h->committed))
            return false;
        h->committed = size;
    }
    h->size = size;
    return true;
}

bool heap_shrink(struct heap *h, size_t less, bool *zero) {
    assert_argument(is_aligned(less, os_facts.page) && less < h->size);
    char *from = (char *)h + h->size - less;
    /* Row D6: where the commit charge counts, and where freed memory must not be readable, access
       goes too. */
    if (os_facts.strict_commit || os_facts.secure) {
        if (!os_decommit(from, (size_t)((char *)h + h->committed - from)))
            return false;
        h->committed = h->size - less;
        *zero = true;
    } else {
        if (!os_purge(from, less))
            return false;
        *zero = false; /* some kernels and emulators accept the advice and do nothing */
    }
    h->size -= less;
    return true;
}

bool heap_destroy(struct heap *h) {
    /* Forget first: once unmapped, another thread may get the window. */
    set_known(h, false);
    if (!os_unmap(h, HEAP_MAX)) {
        set_known(h, true);
        return false;
    }
    char *here = (char *)h + HEAP_MAX;
    atomic_compare_exchange_strong_explicit(&aligned_hint, &here, NULL, memory_order_relaxed,
                                            memory_order_relaxed);
    counter_sub(COUNT_SUBHEAPS, 1);
    return true;
}
