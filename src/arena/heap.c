#include "arena/heap.h"

#include "base/counter.h"
#include "guard/assert.h"
#include "options/options.h"
#include "os/os.h"

_Static_assert(sizeof(struct heap) % ALIGNMENT == 0, "chunks behind it are aligned");

struct heap *heap_create(struct arena *a, size_t lead, size_t need, size_t pad) {
    size_t head = sizeof(struct heap) + lead;
    if (need > HEAP_MAX - head)
        return NULL;
    need += head;
    size_t size = pad > HEAP_MAX - need ? HEAP_MAX : need + pad;
    size = align_up(size_max(size, HEAP_MIN), os_facts.page);
    if (!footprint_ask(size))
        return NULL;
    struct heap *h = window_create(WINDOW_HEAP, size, "rung: arena");
    if (h == NULL) {
        footprint_told();
        return NULL;
    }
    h->arena = a;
    h->prev = NULL;
    h->size = size;
    h->committed = size;
    h->lead = lead;
    counter_add(COUNT_SUBHEAPS, 1);
    return h;
}

static bool commit_to(struct heap *h, size_t size) {
    if (!os_commit((char *)h + h->committed, size - h->committed))
        return false;
    h->committed = size;
    return true;
}

bool heap_grow(struct heap *h, size_t more) {
    if (more > HEAP_MAX)
        return false;
    size_t size = align_up(h->size + more, os_facts.page);
    if (size > HEAP_MAX || !footprint_ask(size - h->size))
        return false;
    if (size > h->committed) {
        size_t ahead = size_min(align_up(size + option(OPT_TOP_STEP), os_facts.page), HEAP_MAX);
        if (!commit_to(h, ahead) && (ahead == size || !commit_to(h, size))) {
            footprint_told();
            return false;
        }
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
    if (!window_destroy(h))
        return false;
    counter_sub(COUNT_SUBHEAPS, 1);
    return true;
}
