#include "arena/unmap.h"

#include <stdatomic.h>

#include "base/compiler.h"
#include "os/os.h"

/* At the start of the range that it tells of. */
struct refused {
    struct refused *next;
    size_t len;
};

static _Atomic(struct refused *) refused;

static void keep(struct refused *r) {
    r->next = atomic_load_explicit(&refused, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&refused, &r->next, r, memory_order_release,
                                                  memory_order_relaxed)) {
    }
}

void unmap_refused(void) {
    if (LIKELY(atomic_load_explicit(&refused, memory_order_relaxed) == NULL))
        return;
    struct refused *r = atomic_exchange_explicit(&refused, NULL, memory_order_acquire);
    bool works = true;
    while (r != NULL) {
        struct refused *next = r->next;
        works = works && os_unmap(r, r->len);
        if (!works)
            keep(r);
        r = next;
    }
}

void unmap_for_good(char *mapping, size_t len) {
    if (os_unmap(mapping, len)) {
        unmap_refused();
        return;
    }
    os_purge(mapping, len);
    struct refused *r = (struct refused *)mapping;
    r->len = len;
    keep(r);
}
