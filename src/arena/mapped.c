#include "arena/mapped.h"

#include <stdatomic.h>

#include "arena/huge.h"
#include "base/counter.h"
#include "chunk/footprint.h"
#include "guard/assert.h"
#include "options/options.h"
#include "os/os.h"

#define OFFSET_HUGE ((size_t)1)

static size_t offset_of(const struct chunk *c) {
    return c->foot & ~(ALIGNMENT - 1);
}

static size_t page_of(const struct chunk *c) {
    return (c->foot & OFFSET_HUGE) != 0 ? huge.page : os_facts.page;
}

size_t mapped_total(const struct chunk *c) {
    return offset_of(c) + chunk_size(c) + MAPPED_TAIL;
}

static char *mapping_of(const struct chunk *c) {
    return (char *)c - offset_of(c);
}

static struct chunk *place(char *mapping, size_t total, size_t offset, size_t huge_bit) {
    struct chunk *c = (struct chunk *)(mapping + offset);
    c->foot = offset | huge_bit;
    chunk_set_head(c, (total - offset - MAPPED_TAIL) | IS_MAPPED);
    return c;
}

static void count_mapping(size_t total) {
    counter_add(COUNT_MAPPED_NOW, 1);
    counter_add(COUNT_MAPPED_BYTES, total);
    counter_raise(COUNT_MAPPED_MAX, counter_get(COUNT_MAPPED_NOW));
    counter_raise(COUNT_MAPPED_BYTES_MAX, counter_get(COUNT_MAPPED_BYTES));
}

/* ---- mappings that the kernel would not take back ---- */

struct stranded {
    struct stranded *next;
    size_t len;
};

static _Atomic(struct stranded *) stranded;

static void keep(struct stranded *s) {
    s->next = atomic_load_explicit(&stranded, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&stranded, &s->next, s, memory_order_release,
                                                  memory_order_relaxed)) {
    }
}

/* True: it is gone. */
static bool unmap_or_strand(char *mapping, size_t len) {
    if (os_unmap(mapping, len))
        return true;
    os_purge(mapping, len);
    struct stranded *s = (struct stranded *)mapping;
    s->len = len;
    keep(s);
    return false;
}

/* As far as it works: one refusal a call, however many there are. */
static void retry_stranded(void) {
    if (LIKELY(atomic_load_explicit(&stranded, memory_order_relaxed) == NULL))
        return;
    struct stranded *s = atomic_exchange_explicit(&stranded, NULL, memory_order_acquire);
    bool works = true;
    while (s != NULL) {
        struct stranded *next = s->next;
        works = works && os_unmap(s, s->len);
        if (!works)
            keep(s);
        s = next;
    }
}

/* ---- the chunks ---- */

bool mapped_wanted(size_t csz) {
    return csz >= option(OPT_MMAP_THRESHOLD) && counter_get(COUNT_MAPPED_NOW) < option(OPT_MMAP_MAX);
}

static char *map_pages(size_t *total, size_t *huge_bit) {
    if (huge.page != 0 && *total >= huge.page) {
        size_t whole = align_up(*total, huge.page);
        char *mapping = footprint_ask(whole) ? os_map(whole, huge.flags) : NULL;
        if (mapping != NULL) {
            *total = whole;
            *huge_bit = OFFSET_HUGE;
            return mapping;
        }
    }
    *total = align_up(*total, os_facts.page);
    *huge_bit = 0;
    footprint_told();
    char *mapping = footprint_ask(*total) ? os_map(*total, 0) : NULL;
    if (mapping != NULL)
        huge_advise(mapping, *total);
    return mapping;
}

struct chunk *mapped_alloc(size_t csz, size_t align) {
    retry_stranded();
    size_t total = csz + MAPPED_TAIL;
    if (align > ALIGNMENT)
        total += align;
    if (total < csz || total > REQUEST_MAX)
        return NULL;
    size_t huge_bit;
    char *mapping = map_pages(&total, &huge_bit);
    if (mapping == NULL) {
        footprint_told();
        return NULL;
    }
    if (option(OPT_DECORATE_MAPS) >= 2)
        os_name(mapping, total, "rung: block");
    count_mapping(total);
    footprint_told();
    return mapped_align(place(mapping, total, 0, huge_bit), align);
}

struct chunk *mapped_align(struct chunk *c, size_t align) {
    char *mapping = mapping_of(c);
    struct chunk *aligned = chunk_of_mem(ptr_align_up(mem_of_chunk(c), align));
    return place(mapping, mapped_total(c), (size_t)((char *)aligned - mapping), c->foot & OFFSET_HUGE);
}

bool mapped_plausible(const struct chunk *c) {
    uintptr_t mem = (uintptr_t)mem_of_chunk(c);
    uintptr_t in_page = mem & (os_facts.page - 1);
    return offset_of(c) <= (uintptr_t)c && mapped_total(c) > offset_of(c) &&
           (((uintptr_t)mapping_of(c) | mapped_total(c)) & (os_facts.page - 1)) == 0 &&
           (in_page & (in_page - 1)) == 0; /* 16, or a multiple of the alignment asked for */
}

void mapped_free(struct chunk *c) {
    size_t total = mapped_total(c);
    counter_sub(COUNT_MAPPED_NOW, 1);
    counter_sub(COUNT_MAPPED_BYTES, total);
    if (unmap_or_strand(mapping_of(c), total))
        retry_stranded();
}

struct chunk *mapped_resize(struct chunk *c, size_t csz) {
    size_t offset = offset_of(c);
    size_t huge_bit = c->foot & OFFSET_HUGE;
    size_t old_total = mapped_total(c);
    if (csz > REQUEST_MAX - offset - MAPPED_TAIL - page_of(c))
        return NULL;
    size_t total = align_up(offset + csz + MAPPED_TAIL, page_of(c));
    if (total == old_total)
        return c;
    if (total > old_total && !footprint_ask(total - old_total))
        return NULL;
    char *mapping = os_remap(mapping_of(c), old_total, total);
    if (mapping != NULL)
        counter_add(COUNT_MAPPED_BYTES, total - old_total);
    footprint_told();
    if (mapping == NULL)
        return NULL;
    counter_raise(COUNT_MAPPED_BYTES_MAX, counter_get(COUNT_MAPPED_BYTES));
    if (old_total < huge.thp)
        huge_advise(mapping, total);
    return place(mapping, total, offset, huge_bit);
}
