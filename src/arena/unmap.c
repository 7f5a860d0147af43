#include "arena/unmap.h"

#include <stdbool.h>

#include "base/leftover.h"
#include "os/os.h"

static _Atomic(struct leftover *) refused;

void unmap_refused(void) {
    bool works = true;
    struct leftover *next;
    for (struct leftover *r = leftover_take_all(&refused); r != NULL; r = next) {
        size_t len = r->len;
        next = r->next;
        works = works && os_unmap(r, len);
        if (!works)
            leftover_push(&refused, r, len);
    }
}

void unmap_for_good(char *mapping, size_t len) {
    if (os_unmap(mapping, len)) {
        unmap_refused();
        return;
    }
    os_purge(mapping, len);
    leftover_push(&refused, mapping, len);
}
