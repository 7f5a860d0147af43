#include "report/residency.h"

#include "base/bits.h"
#include "os/os.h"

/* Documentation/admin-guide/mm/pagemap.rst of the kernel. */
#define PRESENT ((uint64_t)1 << 63)
#define SWAPPED ((uint64_t)1 << 62)
#define OF_A_FILE ((uint64_t)1 << 61)

bool residency_open(struct residency *r, int pid) {
    r->known = 0;
    r->page = os_page_map_unit();
    r->map = os_open_page_map(pid);
    return r->map >= 0;
}

void residency_close(struct residency *r) {
    if (r->map >= 0)
        os_close_page_map(r->map);
    r->map = -1;
}

/* False: there is none. */
static bool entry_of(struct residency *r, uintptr_t page, uint64_t *entry) {
    if (page - r->first >= r->known) {
        r->first = page;
        r->known = os_read_page_map(r->map, page, r->entry, RESIDENCY_PAGES);
        if (r->known == 0)
            return false;
    }
    *entry = r->entry[page - r->first];
    return true;
}

static bool is_resident(struct residency *r, uintptr_t page) {
    uint64_t entry;
    return entry_of(r, page, &entry) && (entry & (PRESENT | OF_A_FILE)) == PRESENT;
}

bool residency_is_blank(struct residency *r, uintptr_t address) {
    uint64_t entry;
    return entry_of(r, address / r->page, &entry) && (entry & (PRESENT | SWAPPED)) == 0;
}

size_t residency_bytes(struct residency *r, uintptr_t from, uintptr_t to) {
    size_t bytes = 0;
    while (from < to) {
        uintptr_t end = size_min(align_down(from, r->page) + r->page, to);
        if (is_resident(r, from / r->page))
            bytes += end - from;
        from = end;
    }
    return bytes;
}
